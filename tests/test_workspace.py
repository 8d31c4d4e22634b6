"""One repro at a time in a workspace."""

import os
import subprocess
import sys
import threading
from pathlib import Path

from pipeline.workspace import name_holder, workspace_lock

ROOT = Path(__file__).resolve().parents[1]

HOLDER = """
import os, sys
from pathlib import Path
from pipeline.workspace import workspace_lock
with workspace_lock(Path(), "a long run"):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(folder: Path) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        cwd=folder,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_run_says_for_whom_it_waits_and_then_runs(tmp_path: Path) -> None:
    holder, waiting = hold(tmp_path), threading.Event()
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        waiting.set()

    def let_go() -> None:
        waiting.wait(60)
        holder.communicate("")

    helper = threading.Thread(target=let_go)
    helper.start()
    with workspace_lock(tmp_path, "second", say):
        assert waiting.is_set()
    helper.join()
    assert said == [f"waiting for process {holder.pid} (a long run), which runs stages in this folder"]


def test_a_holder_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    holder = hold(tmp_path)
    holder.kill()
    holder.communicate()
    said: list[str] = []
    with workspace_lock(tmp_path, "second", said.append):
        name_holder(tmp_path, "stage rl")
    assert said == []
