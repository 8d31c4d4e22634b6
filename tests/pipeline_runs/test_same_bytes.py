"""Equal inputs give equal bytes: in two clones, by the flow, and after being killed half-way."""

import os
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
def test_a_killed_stage_resumes_to_the_same_bytes(stage: str, smoke: Workspace, tmp_path: Path) -> None:
    other = smoke.copy(tmp_path / "killed")
    kill_half_way(other, stage)
    assert not (other.root / "models" / stage).exists()
    done = other.repro()
    assert "resum" in done.stdout, done.stdout[-4000:]
    assert other.outs() == smoke.outs()
    assert other.leftovers() == []


def kill_half_way(workspace: Workspace, stage: str) -> None:
    """`kill -9` for the whole process group of a forced run of `stage`, as soon as its first checkpoint is whole."""
    process = workspace.start("dvc", "repro", "--force", "--single-item", "--no-run-cache", stage)
    deadline = time.monotonic() + 300
    try:
        while not checkpoints(workspace, stage):
            assert process.poll() is None, (workspace.root / ".git/run.log").read_text()[-4000:]
            assert time.monotonic() < deadline, f"{stage} wrote no checkpoint"
            time.sleep(0.02)
        assert process.poll() is None, f"{stage} ended before it could be killed; give it more steps"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def checkpoints(workspace: Workspace, stage: str) -> list[Path]:
    """Whole checkpoints of a stage under `.work`."""
    return [path.parent for path in (workspace.root / ".work").glob(f"{stage}*/**/trainer_state.json")]
