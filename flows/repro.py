"""`dvc repro --single-item STAGE` in a child process group that is always waited for."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pipeline.errors import WorkspaceError

BUSY = ("is busy, it is being blocked by", "Unable to acquire lock")
"""What DVC says when another DVC process is at work; it ends at once instead of waiting."""

PATIENCE, PAUSE = 600.0, 3.0
"""Seconds that such a process is waited for, and between two tries."""

STOP = 15.0
"""Seconds between SIGTERM and SIGKILL; the child itself takes ten to end what it started."""

_HINTS = {
    "To track the changes with git, run:",
    "git add dvc.lock",
    "To enable auto staging, run:",
    "dvc config core.autostage true",
    "Use `dvc push` to send your updates to remote storage.",
}
"""What DVC advises after every stage; once a pipeline would be enough."""


def repro(root: Path, stage: str, on_line: Callable[[str], None], patience: float = PATIENCE) -> None:
    """Bring one stage up to date, handing on its output line by line.

    Raises WorkspaceError when the stage fails, or DVC stays busy for `patience` seconds. Whatever else is raised in
    here, by a signal too, ends the whole child group first.
    """
    until = time.monotonic() + patience
    told = False
    while True:
        code, last = _once(root, stage, on_line)
        if code == 0:
            return
        busy = next((line for line in last if any(words in line for words in BUSY)), None)
        if busy is None or time.monotonic() > until:
            raise WorkspaceError(_failure(stage, code, last))
        if not told:
            on_line(f"waiting for another DVC process: {busy.strip()}")
            told = True
        time.sleep(PAUSE)


def _once(root: Path, stage: str, on_line: Callable[[str], None]) -> tuple[int, list[str]]:
    """Exit code and the last lines of output."""
    python = Path(sys.executable)
    path = os.pathsep.join((str(python.parent), os.environ.get("PATH", "")))
    own = str(Path(__file__).resolve().parents[1])
    modules = os.pathsep.join(filter(None, (own, os.environ.get("PYTHONPATH"))))
    dvc = [str(python), "-m", "dvc", "repro", "--single-item", stage]
    child = subprocess.Popen(
        [str(python), "-m", "flows.child", str(os.getpid()), *dvc],
        cwd=root,
        env=os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1", "PYTHONPATH": modules},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    last: list[str] = []
    try:
        for line in child.stdout or ():
            if line.strip() and line.strip() not in _HINTS:
                on_line(line.rstrip())
                last = [*last[-39:], line.rstrip()]
        return child.wait(), last
    finally:
        stop(child)


def stop(child: "subprocess.Popen[str]") -> None:
    """End the child's whole group, and wait for it; does nothing to a child that has ended by itself."""
    if child.poll() is None:
        _signal_group(child, signal.SIGTERM)
        try:
            child.wait(STOP)
        except subprocess.TimeoutExpired:
            _signal_group(child, signal.SIGKILL)
            child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _signal_group(child: "subprocess.Popen[str]", number: int) -> None:
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return


def _failure(stage: str, code: int, last: list[str]) -> str:
    """One line: the stage's own complaint where it made one, else DVC's."""
    name = stage.partition("@")[0]
    for start in (f"{name}: ", "ERROR: "):
        for line in reversed(last):
            if line.startswith(start):
                return f"stage {stage} failed: {line.removeprefix(f'{name}: ')}"
    return f"stage {stage} failed: dvc ended with exit code {code}" + (f": {last[-1]}" if last else "")
