"""Injected troubles: drawn from the seed, with the quantiles that params give, told apart as rule 4 has it."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.graders.reward import outcome
from pipeline.params import InjectParams, LatencyParams, RolloutParams
from pipeline.records import Rollout, StopReason
from pipeline.rollouts.episodes import play
from pipeline.rollouts.harness import Harness
from pipeline.rollouts.inject import draw_latency
from tests.rollouts.conftest import Counter, Scripted, place, task

CALL = '<tool_call>\n{"name": "add", "arguments": {"by": 1}}\n</tool_call>'


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times slept; nothing waits."""
    slept: list[float] = []
    monkeypatch.setattr("pipeline.rollouts.inject.time.sleep", slept.append)
    return slept


def played(harness: Harness, params: RolloutParams, seed: int = 3, tries: int = 40, **changes: Any) -> list[Rollout]:
    """Tries of an agent that counts to three, call by call."""
    troubled = params.model_copy(update={"inject": params.inject.model_copy(update=changes)})
    say: Callable[[int, int], str] = lambda _row, turn: CALL if turn < 3 else "Three."  # noqa: E731 - one line to read
    tasks = [(task(), number) for number in range(tries)]
    return play(Scripted(harness, say), place(harness, Counter), tasks, troubled, model="m", seed=seed)


def test_latency_has_the_quantiles_that_params_give() -> None:
    rng, params = random.Random(1), LatencyParams(median=0.2, p99=3.0)
    drawn = sorted(draw_latency(rng, params) for _ in range(20_000))
    assert drawn[10_000] == pytest.approx(0.2, rel=0.05)
    assert drawn[19_800] == pytest.approx(3.0, rel=0.15)
    with pytest.raises(ValidationError, match=r"p99 is 0\.1, below the median 0\.2"):
        LatencyParams(median=0.2, p99=0.1)


def test_an_answered_error_reaches_the_agent_and_is_scored(harness: Harness, params: RolloutParams) -> None:
    rollouts = played(harness, params, error_rate=0.3)
    answers = [result.content for one in rollouts for turn in one.turns for result in turn.tool_results]
    failed = answers.count("error: add is not available at the moment; try again")
    assert 0.2 < failed / len(answers) < 0.4
    assert {outcome(one.grades) for one in rollouts} == {0.0, 1.0}
    assert {one.stop_reason for one in rollouts} == {StopReason.FINISHED}


def test_a_fault_leaves_null_grades(harness: Harness, params: RolloutParams) -> None:
    rollouts = played(harness, params, error_rate=0.3, error="fault")
    broken = [one for one in rollouts if one.stop_reason is StopReason.ENVIRONMENT_ERROR]
    assert 0.4 < len(broken) / len(rollouts) < 0.9
    assert {outcome(one.grades) for one in broken} == {None}
    assert broken[0].grades[0].reason == "add: failed (injected)"
    assert {outcome(one.grades) for one in rollouts if one not in broken} == {1.0}


def test_a_latency_above_the_limit_is_a_time_out_without_a_clock(
    harness: Harness, params: RolloutParams, naps: list[float]
) -> None:
    rollouts = played(harness, params, latency=LatencyParams(median=0.5, p99=4.0))
    late = [one for one in rollouts if one.stop_reason is StopReason.TIMEOUT]
    assert 0 < len(late) < len(rollouts)
    assert {outcome(one.grades) for one in late} == {None}
    assert max(naps) == params.tool_timeout
    assert len([nap for nap in naps if nap == params.tool_timeout]) == len(late)


def test_the_same_seed_meets_the_same_troubles(harness: Harness, params: RolloutParams, naps: list[float]) -> None:
    troubles: dict[str, Any] = {"latency": LatencyParams(median=0.5, p99=4.0), "error_rate": 0.2}
    first, again, other = (played(harness, params, seed, **troubles) for seed in (3, 3, 4))
    assert first == again
    assert [one.stop_reason for one in first] != [one.stop_reason for one in other]
    alone = played(harness, params, 3, tries=5, **troubles)
    assert alone == first[:5]


def test_nothing_is_injected_by_default(harness: Harness, params: RolloutParams, naps: list[float]) -> None:
    assert params.inject == InjectParams(latency=None, error_rate=0.0, error="answer")
    assert {outcome(one.grades) for one in played(harness, params)} == {1.0}
    assert naps == []
