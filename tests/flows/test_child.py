"""No process is left behind, whoever dies."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]

GRANDCHILD = "import os, pathlib, time; pathlib.Path('grandchild').write_text(str(os.getpid())); time.sleep(600)"
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {GRANDCHILD!r}])"
STARTER = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-m", "flows.child", str(os.getpid()), sys.executable, "-c", {child!r}],
                 start_new_session=True)
time.sleep(600)
"""


def start(folder: Path) -> "subprocess.Popen[bytes]":
    code = STARTER.format(child=CHILD)
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)})


def wait_for(path: Path) -> int:
    """The process id that appears in `path`."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if path.is_file() and path.read_text(encoding="utf-8"):
            return int(path.read_text(encoding="utf-8"))
        time.sleep(0.05)
    pytest.fail(f"{path} did not appear")


def is_gone(pid: int) -> bool:
    """Whether the process ends within half a minute; one that only waits to be reaped has ended."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


def test_the_group_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    starter = start(tmp_path)
    grandchild = wait_for(tmp_path / "grandchild")
    starter.kill()
    starter.wait()
    assert is_gone(grandchild)


def test_sigterm_to_the_watch_alone_ends_the_group(tmp_path: Path) -> None:
    starter = start(tmp_path)
    grandchild = wait_for(tmp_path / "grandchild")
    watch = psutil.Process(grandchild).parents()[1]
    watch.send_signal(signal.SIGTERM)
    assert is_gone(grandchild)
    assert is_gone(watch.pid)
    starter.kill()
    starter.wait()


def test_the_exit_code_is_the_commands() -> None:
    command = [sys.executable, "-m", "flows.child", str(os.getpid()), sys.executable, "-c", "import sys; sys.exit(7)"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 7
