"""The stage `filter` on real files: what it writes, what it refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.errors import EmptyOutputError, InputError, ParamsError
from pipeline.filter_params import FilterParams
from pipeline.params import Params, load_params
from pipeline.records import GROUPS, RL_TASKS, ROLLOUTS, TASKS, Rollout, StopReason, Task
from pipeline.rows import grades_from_json, rollout_to_row, task_from_row, task_to_row
from pipeline.stages.filter import body
from pipeline.synthesis.tasks import unique_tasks
from pipeline.tables import read_json, read_parquet, write_parquet
from pipeline.tracking import Run
from tests.selection.rollouts import grades
from tests.worlds import CLAIMS

PROJECT = Path(__file__).parents[2]
OUTCOMES: dict[str, list[float | None]] = {"mixed": [1, 0], "solved": [1, 1], "failed": [0, 0], "down": [None, 1]}


def chosen(**changes: Any) -> Params:
    """The project's params with the outcome as the only reward and `changes` to the filter."""
    params = load_params(PROJECT / "params.yaml")
    reward = params.reward.model_copy(update={"weights": {"outcome": 1.0}})
    return params.model_copy(update={"reward": reward, "filter": params.filter.model_copy(update=changes)})


def lay_out(outcomes: dict[str, list[float | None]]) -> None:
    """Write tasks (one more than profiled) and rollouts into the current folder."""
    tasks = [Task(name, "claims", "theft", "train", 1, "q", {}, {}, (), {}) for name in [*outcomes, "unprofiled"]]
    write_parquet(Path("data/tasks/train.parquet"), map(task_to_row, tasks), TASKS)
    rollouts = [
        Rollout(
            name, "claims", "theft", number, "sft", (), (), grades_from_json(grades(value)),
            StopReason.ENVIRONMENT_ERROR if value is None else StopReason.FINISHED,
        )
        for name, values in outcomes.items() for number, value in enumerate(values)
    ]  # fmt: skip
    write_parquet(Path("data/profile/rollouts.parquet"), map(rollout_to_row, rollouts), ROLLOUTS)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_keeps_the_mixed_group_and_counts_every_drop() -> None:
    lay_out(OUTCOMES)
    body(chosen(), Run())
    kept = list(read_parquet(Path("data/rl_tasks.parquet"), RL_TASKS))
    assert [(task["task_id"], task["pass_rate"], task["reward_std"], task["valid"]) for task in kept] == [
        ("mixed", 0.5, 0.5, 2)
    ]
    assert task_from_row(kept[0]).question == "q"
    judged = {row["task_id"]: row["reason"] for row in read_parquet(Path("data/groups.parquet"), GROUPS)}
    assert judged == {"mixed": "signal", "solved": "no_spread", "failed": "no_spread", "down": "too_few_valid"}
    metrics = read_json(Path("metrics/filter.json"))
    dropped = {reason: count for reason, count in metrics["dropped_by_reason"].items() if count}
    assert dropped == {"too_few_valid": 1, "no_spread": 2}
    assert metrics["steps"] == [
        {"kind": "too_few_valid", "asked": 4, "dropped": 1}, {"kind": "spread", "asked": 3, "dropped": 2},
        {"kind": "pass_rate", "asked": 1, "dropped": 0},
    ]  # fmt: skip
    assert (metrics["groups"], metrics["kept"], metrics["not_profiled"], metrics["null_rewards"]) == (4, 1, 1, 1)
    assert pl.read_csv("plots/groups.csv").columns == [
        "task_id", "environment", "template", "pass_rate", "reward_std", "kept", "reason",
    ]  # fmt: skip


def test_equal_inputs_give_equal_bytes() -> None:
    lay_out(OUTCOMES)
    outs = [Path("data/rl_tasks.parquet"), Path("data/groups.parquet"), Path("plots/groups.csv")]
    body(chosen(), Run())
    first = [path.read_bytes() for path in outs]
    body(chosen(), Run())
    assert [path.read_bytes() for path in outs] == first


def test_nothing_kept_says_why_and_what_to_widen() -> None:
    lay_out({"solved": [1, 1], "failed": [0, 0], "down": [None, 1]})
    with pytest.raises(EmptyOutputError, match=r"none of 3 .* left \(2 no_spread, 1 too_few_valid\); raise profile"):
        body(chosen(), Run())
    assert not Path("data/rl_tasks.parquet").exists()
    verdicts = pl.read_parquet("data/groups.parquet").select("verdict", "reason").rows()
    assert sorted(verdicts) == [("dropped", "no_spread"), ("dropped", "no_spread"), ("dropped", "too_few_valid")]


def test_a_rollout_of_an_unknown_task_is_named() -> None:
    lay_out(OUTCOMES)
    write_parquet(Path("data/tasks/train.parquet"), [], TASKS)
    with pytest.raises(InputError, match=r"task down is not in data/tasks/train\.parquet"):
        body(chosen(), Run())


def test_groups_that_barely_differ_are_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    lay_out({"a": [1, 0], "b": [1, 0]})
    body(chosen(), Run())
    assert "warning: the kept groups' spreads barely differ (std/mean 0.00 < 0.5)" in capsys.readouterr().out


def test_another_reward_needs_no_new_rollouts_and_an_unknown_grade_is_named() -> None:
    lay_out(OUTCOMES)
    params = chosen()
    strict = params.reward.model_copy(update={"combine": "all"})
    body(params.model_copy(update={"reward": strict}), Run())
    unknown = params.reward.model_copy(update={"weights": {"outcom": 1.0}})
    with pytest.raises(ParamsError, match="nothing gives a grade named 'outcom'; known are outcome"):
        body(params.model_copy(update={"reward": unknown}), Run())


def with_steps(*steps: dict[str, Any]) -> Params:
    """The params of these tests with other steps."""
    return chosen(steps=FilterParams.model_validate({"steps": steps, "keep_solved": 0}).steps)


def test_golden_runs_that_fail_today_are_found_in_the_environment() -> None:
    sound, spoilt, foreign = unique_tasks(CLAIMS, 1, "train", 3)
    spoilt = replace(spoilt, golden_calls=spoilt.golden_calls[:-1])
    foreign = replace(foreign, environment="elsewhere", golden_calls=())
    lay_out({task.task_id: [1, 0] for task in (sound, spoilt, foreign)})
    write_parquet(Path("data/tasks/train.parquet"), map(task_to_row, (sound, spoilt, foreign)), TASKS)
    body(with_steps({"kind": "broken", "golden": True}), Run())
    judged = {row["task_id"]: row["reason"] for row in read_parquet(Path("data/groups.parquet"), GROUPS)}
    assert judged == {sound.task_id: "signal", spoilt.task_id: "golden_fails", foreign.task_id: "signal"}


def test_near_duplicates_are_told_by_the_texts_of_tasks() -> None:
    lay_out({"a": [1, 0], "b": [1, 0], "c": [1, 0]})
    asked = {
        "a": "settle claim nine of customer two",
        "b": "Settle claim nine of customer two!",
        "c": "cancel order one",
    }
    tasks = [Task(name, "claims", "theft", "train", 1, text, {}, {}, (), {}) for name, text in asked.items()]
    write_parquet(Path("data/tasks/train.parquet"), map(task_to_row, tasks), TASKS)
    body(with_steps({"kind": "near_duplicate", "similarity": 0.9}), Run())
    judged = {row["task_id"]: row["reason"] for row in read_parquet(Path("data/groups.parquet"), GROUPS)}
    assert judged == {"a": "signal", "b": "near_duplicate", "c": "signal"}


def test_rows_in_another_order_or_twice_give_the_same_bytes() -> None:
    lay_out(OUTCOMES)
    outs = [Path(name) for name in ("data/rl_tasks.parquet", "data/groups.parquet", "plots/groups.csv")]
    body(chosen(), Run())
    first = [path.read_bytes() for path in outs]
    rows = list(read_parquet(Path("data/profile/rollouts.parquet"), ROLLOUTS))
    write_parquet(Path("data/profile/rollouts.parquet"), [*reversed(rows), *rows[:3]], ROLLOUTS)
    body(chosen(), Run())
    assert [path.read_bytes() for path in outs] == first
