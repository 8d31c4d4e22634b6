"""A parent-watch around one command: `python -m flows.child PARENT_PID COMMAND ...`.

Nothing in the system ends a process group when the process that started it is killed with SIGKILL, and DVC leaves its
stage running when it is ended itself. So this small process leads the group (its starter gave it a session of its own),
looks twice a second whether its parent is still the one it was told, and ends the whole group when it is not.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from types import FrameType

import psutil

LOOK = 0.5
"""Seconds between two looks at the parent."""

GRACE = 10.0
"""Seconds between SIGTERM and SIGKILL."""


def watch(parent: int, command: list[str]) -> int:
    """Run `command` and return its exit code; end the group when process `parent` is gone or on SIGTERM."""
    stop = False

    def on_term(number: int, frame: FrameType | None) -> None:
        nonlocal stop
        stop = True

    signal.signal(signal.SIGTERM, on_term)
    child = subprocess.Popen(command)
    while True:
        try:
            return child.wait(LOOK)
        except subprocess.TimeoutExpired:
            if stop or os.getppid() != parent:
                end_group(child)
                return 128 + signal.SIGTERM


def end_group(child: "subprocess.Popen[bytes]") -> None:
    """SIGTERM to all others of our group, then SIGKILL after GRACE seconds; `child` is waited for."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    until = time.monotonic() + GRACE
    while time.monotonic() < until and _others():
        child.poll()
        time.sleep(0.05)
    for pid in _others():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    child.wait()


def _others() -> list[int]:
    """Living processes of our group except ourselves."""
    own, group = os.getpid(), os.getpgrp()
    return [pid for pid in psutil.pids() if pid != own and _is_of(pid, group)]


def _is_of(pid: int, group: int) -> bool:
    try:
        return os.getpgid(pid) == group and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except (OSError, psutil.Error):
        return False


if __name__ == "__main__":
    sys.exit(watch(int(sys.argv[1]), sys.argv[2:]))
