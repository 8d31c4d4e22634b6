"""The stage `profile`: a whole run with a tiny real model, and its refusals."""

from pathlib import Path

import pytest

from pipeline.environments.declared import DeclaredEnvironment
from pipeline.errors import EmptyOutputError, InputError
from pipeline.params import Params, load_params
from pipeline.records import ROLLOUTS, TASKS, Grade, Message
from pipeline.rollouts.harness import Harness
from pipeline.rows import task_to_row
from pipeline.stages.profile import body
from pipeline.synthesis.tasks import unique_tasks
from pipeline.tables import read_json, read_parquet, write_parquet
from pipeline.tracking import Run
from pipeline.training.tiny import build_tiny, build_tokenizer
from tests.worlds import CLAIMS

PROJECT = Path(__file__).parents[2]
OUTS = (Path("data/profile/rollouts.parquet"), Path("metrics/profile.json"))


def _params() -> Params:
    """The project's params with two tries of two tasks, short turns and a model of a few thousand weights."""
    params = load_params(PROJECT / "params.yaml")
    short = {"max_turns": 2, "max_new_tokens": 4, "chunk": 3, "slots": 2}
    size = {"hidden_size": 16, "layers": 1, "heads": 2, "head_dim": 8, "intermediate_size": 16, "vocab_size": 700}
    return params.model_copy(
        update={
            "base": params.base.model_copy(update=size),
            "rollouts": params.rollouts.model_copy(update=short),
            "profile": params.profile.model_copy(update={"tries": 2, "tasks": 2}),
        }
    )


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """Three train tasks and an untrained model in an empty folder."""
    monkeypatch.chdir(tmp_path)
    params = _params()
    tasks = list(unique_tasks(CLAIMS, 1, "train", 3))
    write_parquet(Path("data/tasks/train.parquet"), map(task_to_row, tasks), TASKS)
    bare = Harness.load(build_tokenizer([], 400), CLAIMS.tools, CLAIMS.procedure)
    texts = [bare.render([Message("system", CLAIMS.procedure), Message("user", task.question)]) for task in tasks]
    build_tiny(texts, params.base, 1, Path("models/sft"))
    return params


def test_first_tasks_are_tried_and_a_second_run_gives_the_same_bytes(workspace: Params) -> None:
    body(workspace, Run())
    first = [out.read_bytes() for out in OUTS]
    rows, train = list(read_parquet(OUTS[0], ROLLOUTS)), list(read_parquet(Path("data/tasks/train.parquet"), TASKS))
    tried = [(row["task_id"], row["try_index"]) for row in rows]
    assert tried == [(task["task_id"], n) for task in train[:2] for n in range(2)]
    metrics = read_json(OUTS[1])
    assert (metrics["tasks"], metrics["rollouts"], metrics["null_rate"]) == (2, 4, 0.0)
    assert sum(share for name, share in metrics.items() if name.startswith("stop_")) == 1.0
    body(workspace, Run())
    assert [out.read_bytes() for out in OUTS] == first


def test_zero_means_all_tasks(workspace: Params) -> None:
    body(workspace.model_copy(update={"profile": workspace.profile.model_copy(update={"tasks": 0})}), Run())
    assert read_json(OUTS[1])["tasks"] == 3


def test_environment_that_is_down_leaves_nothing(workspace: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(_self: object) -> tuple[Grade, ...]:
        raise ConnectionError("no route")

    monkeypatch.setattr(DeclaredEnvironment, "_grade", down)
    with pytest.raises(EmptyOutputError, match=r"not one of 4 rollouts has an outcome; .*ConnectionError: no route"):
        body(workspace, Run())
    assert not any(out.exists() for out in OUTS)


def test_no_tasks_is_an_error_that_names_the_param(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_parquet(Path("data/tasks/train.parquet"), [], TASKS)
    with pytest.raises(InputError, match=r"holds no tasks; raise synthesize\.train"):
        body(_params(), Run())
