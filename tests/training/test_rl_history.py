import pytest

from pipeline.training.collect import collect, settle
from pipeline.training.curriculum import TaskSampler
from pipeline.training.rl_history import COLUMNS, played, updated
from tests.training.rollouts import Player, params, task


def outcome(name: str, number: int) -> float | None:
    if name == "flat":
        return 0.5
    return None if number == 0 else float(number % 2)


def test_a_row_tells_what_was_played_and_what_the_updates_did() -> None:
    wanted = params(rl={"groups": 2, "tries": 4, "max_rounds": 1})
    tasks = {name: task(name) for name in ("flat", "mixed")}
    groups = collect(3, TaskSampler(list(tasks)), tasks, Player(outcome), wanted)
    row = played(3, groups, settle(groups, wanted.rl), max_turns=8)
    assert tuple(row) == COLUMNS
    assert row["reward"] == row["outcome"] == pytest.approx((4 * 0.5 + 0 + 1 + 1) / 7)
    expected = {
        "step": 3, "groups": 1, "kept_share": 0.5, "zero_spread_share": 0.5, "null_share": 0.125, "logprob": -0.5,
        "turns": 2, "max_turns": 8, "tokens": 40, "rollouts": 8, "trained_rollouts": 3, "trained_tokens": 15,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["valid_pass_at_1"] is row["loss"] is None
    later = updated(row, {"loss": 0.25, "grad_norm": 2.0, "clip_ratio/region_mean": 0.1, "epoch": 1.0})
    assert (later["loss"], later["grad_norm"], later["clip_share"], later["entropy"]) == (0.25, 2.0, 0.1, None)
    assert tuple(later) == COLUMNS
