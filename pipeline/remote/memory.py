"""Answers remembered by content, so that the same work twice asks once and gets the same answers.

One SQLite file, never an out of a stage: deleting it costs money and nothing else. Of two processes that ask the same
at once the first to write wins, and both go on with what was written.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import WorkspaceError

ANSWERS = Path(".cache/answers.sqlite")
"""Where stages keep them, relative to the project's folder; git-ignored."""


class Memory:
    """Text by key. Safe for several threads and processes; the file is made with the first answer."""

    def __init__(self, path: Path = ANSWERS) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._asking: dict[str, threading.Lock] = {}

    def get(self, key: str) -> str | None:
        """What was kept under `key`. Raises WorkspaceError when the file is not usable."""
        with self._lock:
            if self._connection is None and not self._path.exists():
                return None
            return self._read(key)

    def keep(self, key: str, answer: str) -> str:
        """Keep `answer` unless there is one already; returns the one that stands. Raises WorkspaceError."""
        with self._lock:
            try:
                self._open().execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, answer))
            except sqlite3.Error as error:
                raise self._unusable(error) from error
            return self._read(key) or answer

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """Hold off other threads of this process that want `key`, so that equal requests are sent once."""
        with self._lock:
            lock = self._asking.setdefault(key, threading.Lock())
        try:
            with lock:
                yield
        finally:
            with self._lock:
                self._asking.pop(key, None)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _read(self, key: str) -> str | None:
        try:
            found = self._open().execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        return None if found is None else str(found[0])

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=60, isolation_level=None, check_same_thread=False)
            self._connection = connection
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT) WITHOUT ROWID")
        return self._connection

    def _unusable(self, error: sqlite3.Error) -> WorkspaceError:
        return WorkspaceError(f"{self._path}: {error}; delete the file, the answers are then asked for again")
