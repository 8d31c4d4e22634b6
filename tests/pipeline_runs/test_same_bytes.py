"""Equal inputs give equal bytes: in two clones, by the flow, and after being killed half-way."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.pipeline_runs.workspace import Workspace, clone

pytestmark = pytest.mark.slow


def test_two_clones_make_the_same_bytes(smoke: Workspace, tmp_path: Path) -> None:
    other = clone(tmp_path / "elsewhere", "smoke")
    other.repro("--force")
    assert other.outs() == smoke.outs()
    assert {"models/base", "models/sft", "models/rft", "models/rl"} <= set(other.outs())


def test_the_flow_makes_the_same_lock_file(smoke: Workspace, tmp_path: Path) -> None:
    other = clone(tmp_path / "flow", "smoke")
    done = other.run("python", "-m", "flows.pipeline")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert (other.root / "dvc.lock").read_text() == (smoke.root / "dvc.lock").read_text()
    assert "Data and pipelines are up to date." in other.repro().stdout


@pytest.mark.parametrize("stage", ["sft", "rl"])
def test_a_killed_stage_goes_on_to_the_same_bytes(stage: str, smoke: Workspace, tmp_path: Path) -> None:
    other = smoke.copy(tmp_path / "killed")
    other.forget(stage)
    reached = kill_half_way(other, stage)
    assert not (other.root / "models" / stage).exists()
    done = other.repro()
    assert steps_said(stage, done.stdout)[0] > reached, done.stdout[-4000:]
    assert other.outs() == smoke.outs()
    assert other.leftovers() == []


def kill_half_way(workspace: Workspace, stage: str) -> int:
    """`kill -9` for the whole process group of a run of `stage`, as soon as it has a whole checkpoint.

    Returns the step of that checkpoint.
    """
    process = workspace.start("dvc", "repro", "--single-item", stage)
    deadline = time.monotonic() + 600
    try:
        while not checkpoints(workspace, stage):
            assert process.poll() is None, (workspace.root / ".git/run.log").read_text()[-4000:]
            assert time.monotonic() < deadline, f"{stage} wrote no checkpoint"
            time.sleep(0.02)
        assert process.poll() is None, f"{stage} ended before it could be killed; give it more steps"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return max(checkpoints(workspace, stage))


def checkpoints(workspace: Workspace, stage: str) -> list[int]:
    """Steps of the whole checkpoints of a stage under `.work`: sft marks one by its last file, rl by a rename."""
    work = workspace.root / ".work" / stage
    if stage == "sft":
        return [int(path.parent.name.rpartition("-")[2]) for path in work.glob("*/checkpoint-*/watch.json")]
    return [int(path.name) for path in work.glob("*/checkpoints/*")]


def steps_said(stage: str, output: str) -> list[int]:
    """Steps of the stage's lines of progress, in order."""
    return [int(step) for step in re.findall(rf"^{stage} +(\d+)/", output, re.MULTILINE)]
