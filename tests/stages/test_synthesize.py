"""The stage `synthesize` with an environment of the user's: its file is the source of tasks, and of refusals."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.errors import EmptyOutputError
from pipeline.params import Params, load_params
from pipeline.records import DEMOS, TASKS
from pipeline.stages.synthesize import body
from pipeline.tables import read_json, read_parquet
from pipeline.tracking import Run
from tests.conftest import ROOT
from tests.environments.foreign import QUIZ

CALLS = [{"name": "hand_in", "arguments": {"capital": "Lima"}}]


def chosen(*names: str) -> Params:
    """The project's params with a few tasks of these environments, own ones under `own`."""
    params = load_params(ROOT / "params.yaml")
    few = {"train": 4, "valid": 2, "eval": 2, "demos": 4, "outside": 0}
    environments = params.environments.model_copy(update={"names": names, "folder": "own"})
    return params.model_copy(
        update={"environments": environments, "synthesize": params.synthesize.model_copy(update=few)}
    )


def own(rows: list[dict[str, Any]]) -> None:
    """Write the quiz and its tasks."""
    Path("own").mkdir()
    Path("own/quiz.py").write_text(QUIZ, encoding="utf-8")
    asked = ({"question": f"Capital of Peru, question {n}?", "country": "Peru"} | row for n, row in enumerate(rows))
    Path("own/quiz.jsonl").write_bytes(b"\n".join(map(orjson.dumps, asked)))


def test_given_and_drawn_tasks_take_turns_and_what_is_left_over_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    splits = ("train", "train", "train", "valid", "eval")
    own([{"split": split, "golden_calls": CALLS if n else []} for n, split in enumerate(splits)])
    body(chosen("quiz", "claims"), Run())
    train = list(read_parquet(Path("data/tasks/train.parquet"), TASKS))
    assert [row["environment"] for row in train] == ["quiz", "claims", "quiz", "claims"]
    metrics = read_json(Path("metrics/synthesize.json"))
    assert metrics["train"]["rejected"]["quiz"] == {"left_over": 1}
    assert metrics["train"]["templates"]["quiz"] == {"quiz": 2}
    shown = [row["task_id"] for row in read_parquet(Path("data/demos.parquet"), DEMOS)]
    assert shown == [row["task_id"] for row in train[1:]]


def test_a_split_without_a_task_stops_the_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own([{"split": "train"}, {"split": "eval"}])
    with pytest.raises(EmptyOutputError, match=r"own/quiz\.jsonl: no row is of split valid; add "):
        body(chosen("quiz"), Run())
