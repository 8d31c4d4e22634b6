"""The local record of a run, written first and always: `.work/tracking/<server>/<run>/`.

`events.jsonl` is appended to by the stage alone, `state.json` is written by the uploader alone, so neither waits for
the other and either may be killed at any moment. A record is **open** while its stage's process lives and has written
no end; a record without an end whose process is gone was **killed**.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psutil

DEFAULT_URI = "sqlite:///mlflow.db"
RUNNING, FINISHED, FAILED, KILLED = "RUNNING", "FINISHED", "FAILED", "KILLED"
"""MLflow's names for the state of a run."""


def tracking_uri() -> str:
    """Where MLflow keeps runs: MLFLOW_TRACKING_URI, or a sqlite file in the workspace."""
    return os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI


def public_uri() -> str:
    """`tracking_uri()` without user and password, fit to be printed."""
    parts = urlsplit(tracking_uri())
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if "@" in parts.netloc else tracking_uri()


def uses_local_store() -> bool:
    """Whether runs go to a database or folder of this machine, which needs a server of ours to be looked at."""
    return urlsplit(tracking_uri()).scheme not in {"http", "https", "databricks"}


def server_uri(root: Path) -> str:
    """The tracking address as a server started from another folder understands it."""
    return tracking_uri() if tracking_uri() != DEFAULT_URI else f"sqlite:///{(root / 'mlflow.db').resolve()}"


def records_folder(root: Path) -> Path:
    """Folder of the records that belong to the present MLflow; one for each address, so that none goes to another."""
    return root / ".work" / "tracking" / hashlib.sha256(tracking_uri().encode()).hexdigest()[:8]


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass
class State:
    """What has been uploaded of a record."""

    run_id: str | None = None
    experiment_id: str | None = None
    parent_id: str | None = None
    offset: int = 0
    """Bytes of events.jsonl that are in MLflow."""
    status: str | None = None
    """Status last written to MLflow."""
    stage_hash: str | None = None
    pipeline_hash: str | None = None
    pid: int = 0
    process_started: float = 0.0


@dataclass
class Record:
    """One run on disk."""

    folder: Path

    @property
    def events_file(self) -> Path:
        """The events, one JSON object a line."""
        return self.folder / "events.jsonl"

    @property
    def artifacts(self) -> Path:
        """Copies of the files that go with the run, until they are uploaded."""
        return self.folder / "artifacts"

    def append(self, event: str, **values: Any) -> None:
        """Add one event with the time. Raises OSError."""
        line = json.dumps({"event": event, "time": now_ms(), **values}, default=str) + "\n"
        with self.events_file.open("ab") as stream:
            stream.write(line.encode("utf-8", "backslashreplace"))

    def start(self, **values: Any) -> None:
        """Add the start event, which names this process as the one at work. Raises OSError."""
        self.append("start", pid=os.getpid(), process_started=_process_started(os.getpid()), **values)

    def events(self, offset: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
        """Whole events from byte `offset` on, each with the offset behind it; a line still being written is left."""
        if not self.events_file.is_file():
            return
        with self.events_file.open("rb") as stream:
            stream.seek(offset)
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                offset += len(line)
                event = _parse(line)
                if event is not None:
                    yield event, offset

    def read_state(self) -> State:
        """State the uploader wrote last."""
        try:
            return State(**json.loads((self.folder / "state.json").read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, TypeError):
            return State()

    def write_state(self, state: State) -> None:
        """Replace the state, whole or not at all. Raises OSError."""
        temporary = self.folder / f"state.{os.getpid()}.tmp"
        temporary.write_text(json.dumps(vars(state)), encoding="utf-8")
        temporary.replace(self.folder / "state.json")

    def unread(self, state: State) -> int:
        """Bytes of events that are not in MLflow yet."""
        return self.events_file.stat().st_size - state.offset if self.events_file.is_file() else 0

    def keep(self, path: Path) -> str:
        """Copy a file or folder beside the events; returns its name there. Raises OSError."""
        name = path.name
        target = self.artifacts / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(path, target)
        return name

    def last_status(self) -> str:
        """How the run stands by its events alone: ended as it says, RUNNING, or KILLED where its process is gone."""
        pid, started, status = 0, 0.0, KILLED
        for event, _ in self.events():
            if event["event"] == "start":
                pid, started, status = event["pid"], event["process_started"], RUNNING
            elif event["event"] == "end":
                status = event["status"]
        return KILLED if status == RUNNING and not is_alive(pid, started) else status


def all_records(root: Path) -> list[Record]:
    """Every record for the present MLflow, oldest first."""
    folder = records_folder(root)
    found = [entry for entry in folder.iterdir() if entry.is_dir()] if folder.is_dir() else []
    return [Record(path) for path in sorted(found)]


def records_of(root: Path, identity: str) -> list[Record]:
    """Records of runs with hash `identity`, oldest first."""
    return [record for record in all_records(root) if record.folder.name.endswith(f"-{identity[:12]}")]


def open_record(root: Path, name: str, identity: str) -> Record:
    """Record to write to for run `name` with hash `identity`: the one that was killed on the way, else a new one.

    Raises OSError.
    """
    earlier = records_of(root, identity)
    if earlier and earlier[-1].events_file.is_file() and earlier[-1].last_status() == KILLED:
        return earlier[-1]
    record = Record(records_folder(root) / f"{time.time_ns()}-{name}-{identity[:12]}")
    record.folder.mkdir(parents=True)
    return record


def is_alive(pid: int, started: float) -> bool:
    """Whether the very process that had `pid` and began at `started` (seconds since the epoch) still runs."""
    return pid > 0 and abs(_process_started(pid) - started) < 0.02


def _process_started(pid: int) -> float:
    try:
        process = psutil.Process(pid)
        return -1.0 if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except psutil.Error:
        return -1.0


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None  # cut by a full disk or a kill; what stands before and behind it is whole
    return event if isinstance(event, dict) else None
