"""The rl stage for real, very small: killed at several moments, it ends with the bytes of an unbroken run."""

import csv
import os
import re
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.params import Params
from pipeline.records import LEDGER, RL_TASKS, TASKS
from pipeline.rollouts.harness import Harness
from pipeline.rows import grades_from_json, task_to_row
from pipeline.synthesis.demos import demonstrate
from pipeline.synthesis.tasks import unique_tasks
from pipeline.tables import read_json, read_parquet, write_parquet
from pipeline.training.loading import load_model, load_tokenizer, save_model
from pipeline.training.sft import TokenRow, train_sft
from pipeline.training.tiny import build_tiny, build_tokenizer
from tests.training.rollouts import ROOT, params
from tests.worlds import CLAIMS, WORLDS

pytestmark = pytest.mark.slow

OUTS = ("models/rl", "data/ledger.parquet", "metrics/rl.json", "plots/rl.csv")
SMALL = params(
    base={"vocab_size": 900, "hidden_size": 64, "layers": 2, "heads": 2, "head_dim": 32, "intermediate_size": 128},
    sft={"epochs": 8, "batch_size": 8, "eval_every": 1000},
    rollouts={"slots": 16},
    reward={"weights": {"outcome": 0.5, "procedure": 0.3, "quick": 0.2}},
    rl={
        "steps": 4, "groups": 3, "tries": 4, "updates": 2, "max_rounds": 2, "checkpoint_every": 1, "valid_every": 2,
        "valid_tries": 1,
    },
)  # fmt: skip

QUICK = {"name": "quick", "kind": "transcript", "max_turns": 5}
"""All that so poor a model differs in from try to try."""
WATCHER = {"name": "brief", "kind": "transcript", "max_turns": 3, "held_out": True}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that the stage reads: params, tasks, and a model that imitates demonstrations, badly."""
    root = tmp_path_factory.mktemp("workspace")
    train, valid = list(unique_tasks(CLAIMS, 1, "train", 60)), list(unique_tasks(CLAIMS, 1, "valid", 4))
    stats = {"pass_rate": 0.5, "reward_mean": 0.5, "reward_std": 0.5, "valid": 4}
    write_parquet(root / "data/rl_tasks.parquet", [task_to_row(task) | stats for task in train], RL_TASKS)
    write_parquet(root / "data/tasks/valid.parquet", map(task_to_row, valid), TASKS)
    with (root / "params.yaml").open("w") as stream:
        YAML(typ="safe").dump(SMALL.model_dump(mode="json") | {"graders": [QUICK, WATCHER]}, stream)
    imitate(root)
    return root


def imitate(root: Path) -> None:
    """Write models/sft."""
    demos = list(demonstrate(WORLDS, unique_tasks(CLAIMS, 1, "train", 100)))
    blank = Harness.load(build_tokenizer((), 512), CLAIMS.tools, CLAIMS.procedure)
    build_tiny([blank.render(demo.messages) for demo in demos], SMALL.base, 1, root / "models/base")
    model, tokenizer = load_model(root / "models/base"), load_tokenizer(root / "models/base")
    harness = Harness.load(tokenizer, CLAIMS.tools, CLAIMS.procedure)
    rows = [TokenRow(*harness.encode(demo.messages)) for demo in demos]
    train_sft(model, tokenizer, rows, (), SMALL.sft, seed=1, work=root / "sft", report=lambda step, losses: None)
    save_model(model, tokenizer, root / "models/sft")


def start(root: Path) -> "subprocess.Popen[str]":
    """The stage in a process group of its own; its lines go to `run.log`."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MLFLOW_TRACKING_URI": f"sqlite:///{root / 'mlflow.db'}"}
    with (root / "run.log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "pipeline.stages.rl"], cwd=root, env=environment, stdout=log, stderr=log, text=True,
            start_new_session=True,
        )  # fmt: skip


def finish(root: Path) -> dict[str, str]:
    """Run the stage to its end; the hash of every file that it wrote."""
    assert start(root).wait(timeout=900) == 0, (root / "run.log").read_text()[-4000:]
    files = [file for out in OUTS for file in ([root / out] if (root / out).is_file() else (root / out).rglob("*"))]
    return {str(file.relative_to(root)): sha256(file.read_bytes()).hexdigest() for file in sorted(files)}


def kill_after(root: Path, step: int, delay: float) -> None:
    """Start the stage, wait for the line of generation step `step` and a moment more, and kill the whole group."""
    said = (root / "run.log").stat().st_size
    process = start(root)
    deadline = time.monotonic() + 600
    while not re.search(rf"^rl +{step}/", (root / "run.log").read_text()[said:], re.MULTILINE):
        assert process.poll() is None, (root / "run.log").read_text()[-4000:]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="module")
def unbroken(workspace: Path) -> dict[str, str]:
    """Hashes of an unbroken run, whose files stay in the workspace."""
    return finish(workspace)


def clean_copy(workspace: Path, target: Path) -> Path:
    """What the stage reads, and nothing that it wrote."""
    for name in ("params.yaml", "data/rl_tasks.parquet", "data/tasks/valid.parquet", "models/sft"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", str(workspace / name), str(target / name)], check=True)
    (target / "run.log").touch()
    return target


def test_the_run_writes_what_it_says(workspace: Path, unbroken: dict[str, str]) -> None:
    metrics = read_json(workspace / "metrics/rl.json")
    ledger = list(read_parquet(workspace / "data/ledger.parquet", LEDGER))
    assert {row["step"] for row in ledger} == {1, 2, 3, 4}
    assert metrics["rollouts"] == len(ledger)
    assert metrics["trained_rollouts"] == sum(row["trained"] for row in ledger) > 0
    assert all((row["advantage"] is not None) == row["trained"] for row in ledger)
    assert not (workspace / ".work/rl").exists()
    assert {grade.held_out for grade in grades_from_json(ledger[0]["grades"]) if grade.name == "brief"} == {True}
    first, *steps = csv.DictReader((workspace / "plots/rl.csv").open())
    assert first["held_out_brief"] == ""
    assert all(0 < float(row["held_out_brief"]) <= 1 for row in steps)
    weights = {
        sha256((workspace / "models" / name / "model.safetensors").read_bytes()).digest() for name in ("sft", "rl")
    }
    assert len(weights) == (1 if metrics["best_step"] == 0 else 2)


def test_killed_at_several_moments_it_ends_with_the_same_bytes(
    workspace: Path, unbroken: dict[str, str], tmp_path: Path
) -> None:
    root = clean_copy(workspace, tmp_path / "killed")
    for step, delay in ((0, 0.1), (1, 0.2), (3, 0.0)):
        kill_after(root, step, delay)
    assert finish(root) == unbroken
    assert "goes on after generation step" in (root / "run.log").read_text()


def test_other_params_never_meet_an_old_checkpoint(workspace: Path, tmp_path: Path) -> None:
    root = clean_copy(workspace, tmp_path / "other")
    kill_after(root, 2, 0.0)
    changed = Params.model_validate(SMALL.model_dump() | {"seed": 2})
    with (root / "params.yaml").open("w") as stream:
        YAML(typ="safe").dump(changed.model_dump(mode="json"), stream)
    (root / "run.log").write_text("")
    finish(root)
    assert "goes on" not in (root / "run.log").read_text()
