import pytest

from pipeline.training.rejection import Fate, judge, token_row, tries_for
from tests.training.rollouts import rollout, turn


def test_each_distinct_success_is_kept_once_a_task() -> None:
    other = [turn((8, 8, 2), (3,)), turn((4, 2), ())]
    rollouts = [
        rollout("a", 0, 0.0),
        rollout("a", 1, 1.0),
        rollout("a", 2, 1.0),
        rollout("a", 3, 1.0, other),
        rollout("b", 0, 1.0),
        rollout("b", 1, None),
        rollout("b", 2, 0.99),
    ]
    assert judge(rollouts, success_at=1.0) == [
        Fate.FAILURE, Fate.KEPT, Fate.DUPLICATE, Fate.KEPT, Fate.KEPT, Fate.NULL_OUTCOME, Fate.FAILURE,
    ]  # fmt: skip


def test_a_row_is_exactly_what_the_model_saw_and_sampled() -> None:
    row = token_row(rollout("a", 0, 1.0, [turn((8, 9, 2), (3, 3)), turn((4, 2), (7, 7))]))
    assert row.ids == (5, 6, 7, 8, 9, 2, 3, 3, 4, 2)
    assert row.mask == (0, 0, 0, 1, 1, 1, 0, 0, 1, 1)


@pytest.mark.parametrize(("rollouts", "tasks", "tries"), [(100, 10, 10), (101, 10, 11), (3, 10, 1)])
def test_the_rival_gets_at_least_as_many_rollouts(rollouts: int, tasks: int, tries: int) -> None:
    assert tries_for(rollouts, tasks) == tries
