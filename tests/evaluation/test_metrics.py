"""pass@k and pass^k by hand, nulls taken out of n, duplicates."""

from math import comb

import numpy as np
import pytest

from pipeline.errors import InputError
from pipeline.evaluation.metrics import collect, mean_known, pass_at_k, pass_hat_k
from tests.evaluation.rollouts import group, row


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """An array of integers."""
    return np.array(values, dtype=np.int64)


def test_values_by_hand() -> None:
    assert pass_at_k(ints(4), ints(1), 2)[0] == pytest.approx(1 - 3 / 6)
    assert pass_hat_k(ints(4), ints(3), 2)[0] == pytest.approx(3 / 6)
    assert pass_at_k(ints(8), ints(2), 4)[0] == pytest.approx(1 - 15 / 70)
    assert pass_hat_k(ints(8), ints(6), 4)[0] == pytest.approx(15 / 70)
    assert (pass_at_k(ints(4), ints(0), 4)[0], pass_at_k(ints(4), ints(1), 4)[0]) == (0.0, 1.0)


@pytest.mark.parametrize("k", [1, 2, 5, 8])
def test_against_the_binomials(k: int) -> None:
    n, c = ints(*[8] * 9), ints(*range(9))
    assert pass_at_k(n, c, k) == pytest.approx([1 - comb(8 - s, k) / comb(8, k) for s in range(9)])
    assert pass_hat_k(n, c, k) == pytest.approx([comb(s, k) / comb(8, k) for s in range(9)])


def test_many_tries_do_not_overflow() -> None:
    assert pass_at_k(ints(5000), ints(1), 100)[0] == pytest.approx(0.02)


def test_fewer_tries_than_k_is_unknown_not_zero() -> None:
    assert np.isnan(pass_at_k(ints(3), ints(3), 4)[0])
    assert mean_known(pass_hat_k(ints(3, 4), ints(3, 4), 4)) == 1.0
    assert mean_known(pass_at_k(ints(0), ints(0), 1)) is None


def test_null_rollouts_reduce_n_and_a_task_of_nulls_is_missing() -> None:
    scores = collect([*group("a", [1, None, 0]), *group("b", [None, None])], 1.0)
    assert scores.task_ids == ("a", "b")
    assert (scores.tries_T.tolist(), scores.graded_T.tolist(), scores.successes_T.tolist()) == ([3, 2], [2, 0], [1, 0])
    assert mean_known(pass_at_k(scores.graded_T, scores.successes_T, 1)) == 0.5


def test_two_halves_are_no_success() -> None:
    assert collect(group("a", [0.5, 0.5]), 1.0).successes_T.tolist() == [0]


def test_the_same_try_twice_counts_once_and_a_conflict_is_an_error() -> None:
    rows = group("a", [1, 0])
    assert collect(rows + rows, 1.0).tries_T.tolist() == [2]
    with pytest.raises(InputError, match="task a: try 0 appears with two contents"):
        collect([*rows, row("a", 0, 0.0)], 1.0)
