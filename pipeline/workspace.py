"""One lock around every repro of a workspace.

DVC's own locks do not wait (a second `dvc repro` fails after seconds), do not say for whom, and let a second run start
beside a stage whose `dvc` was killed. Ours waits, names the holder, and is let go by the system whenever the holder's
process ends.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

LOCK = Path(".work/repro.lock")
HOLDER = Path(".work/repro.json")

REMIND = 30.0
"""Seconds between two lines that say for whom a run waits."""


@contextmanager
def workspace_lock(root: Path, what: str, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the workspace at `root` while `what` (told to those who wait) runs; waits for another holder."""
    lock = FileLock(root / LOCK)
    (root / LOCK).parent.mkdir(parents=True, exist_ok=True)
    _acquire(lock, root, say or _to_stderr)
    try:
        name_holder(root, what)
        yield
    finally:
        (root / HOLDER).unlink(missing_ok=True)
        lock.release()


def name_holder(root: Path, what: str) -> None:
    """Say what the holder of the lock, this process, is doing."""
    temporary = root / HOLDER.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps({"pid": os.getpid(), "what": what}), encoding="utf-8")
    temporary.replace(root / HOLDER)


def describe_holder(root: Path) -> str:
    """Who holds the workspace, as far as is known."""
    try:
        holder = json.loads((root / HOLDER).read_text(encoding="utf-8"))
        return f"process {holder['pid']} ({holder['what']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _acquire(lock: FileLock, root: Path, say: Callable[[str], None]) -> None:
    said = float("-inf")
    while True:
        try:
            lock.acquire(timeout=1.0, poll_interval=0.2)
        except Timeout:
            if time.monotonic() - said >= REMIND:
                said = time.monotonic()
                say(f"waiting for {describe_holder(root)}, which runs stages in this folder")
        else:
            return


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
