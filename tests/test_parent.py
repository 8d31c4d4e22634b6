"""Workers do not outlive the process that started them, not even one that is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pipeline.parent import end_with_parent

if __name__ == "__main__":
    with ProcessPoolExecutor(2, get_context(sys.argv[1]), end_with_parent) as pool:
        started = [pool.submit(time.sleep, 0.2) for _ in range(2)]
        [each.result() for each in started]
        print(*pool._processes, flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_workers_of_a_killed_process_end(method: str, tmp_path: Path) -> None:
    script = tmp_path / "start.py"
    script.write_text(SCRIPT)
    command, place = [sys.executable, str(script), method], {"PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | place) as process:
        assert process.stdout is not None
        workers = [int(word) for word in process.stdout.readline().split()]
        assert len(workers) == 2
        assert all(map(alive, workers))
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(alive, workers))


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody waits for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
