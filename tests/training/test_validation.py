import pytest

from pipeline.training.validation import pass_at_1
from tests.training.rollouts import rollout


def test_tasks_weigh_the_same_and_unknown_outcomes_take_no_part() -> None:
    rollouts = [
        rollout("a", 0, 1.0),
        rollout("a", 1, None),
        rollout("b", 0, 1.0),
        rollout("b", 1, 0.5),
        rollout("b", 2, 0.5),
        rollout("b", 3, 0.5),
        rollout("c", 0, None),
    ]
    assert pass_at_1(rollouts, success_at=1.0) == pytest.approx((1 + 0.25) / 2)


def test_two_halves_are_no_success() -> None:
    assert pass_at_1([rollout("a", 0, 0.5), rollout("a", 1, 0.5)], success_at=1.0) == 0.0


def test_nothing_known_is_worth_nothing() -> None:
    assert pass_at_1([rollout("a", 0, None)], success_at=1.0) == 0.0
