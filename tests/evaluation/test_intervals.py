"""Bootstrap over tasks: determinism, known limits, pairing."""

import numpy as np
import pytest

from pipeline.evaluation.intervals import Bootstrap, Interval, bootstrap_mean, paired_difference, task_differences
from pipeline.evaluation.metrics import collect
from tests.evaluation.rollouts import group

HOW = Bootstrap(2000, 0.95, 7)


def test_equal_seeds_give_equal_intervals_and_other_seeds_others() -> None:
    values = np.linspace(0, 1, 50)
    assert bootstrap_mean(values, HOW) == bootstrap_mean(values, HOW)
    assert bootstrap_mean(values, HOW) != bootstrap_mean(values, Bootstrap(2000, 0.95, 8))


def test_near_the_normal_interval_of_a_mean() -> None:
    values = np.array([0.0, 1.0] * 100)
    found = bootstrap_mean(values, HOW)
    half = 1.96 * 0.5 / np.sqrt(200)
    assert found.mean == 0.5
    assert found.low == pytest.approx(0.5 - half, abs=0.006)
    assert found.high == pytest.approx(0.5 + half, abs=0.006)


def test_tasks_are_drawn_not_tries() -> None:
    """Two tasks with opposite results can be drawn twice each: the interval spans everything, however many tries."""
    scores = collect([*group("a", [1] * 50), *group("b", [0] * 50)], 1.0)
    found = bootstrap_mean(scores.successes_T / scores.graded_T, HOW)
    assert (found.low, found.high) == (0.0, 1.0)


def test_equal_values_have_no_width_and_no_value_has_no_interval() -> None:
    assert bootstrap_mean(np.array([0.25, 0.25, np.nan]), HOW) == Interval(0.25, 0.25, 0.25, 2)
    assert bootstrap_mean(np.array([np.nan]), HOW) == Interval(None, None, None, 0)


def test_differences_are_paired_by_task() -> None:
    """Every task gains exactly a quarter, though tasks differ widely: paired, the difference has no width."""
    worse = collect([*group("a", [0, 0, 0, 0]), *group("b", [1, 1, 1, 0])], 1.0)
    better = collect([*group("a", [1, 0, 0, 0]), *group("b", [1, 1, 1, 1])], 1.0)
    assert paired_difference(better, worse, HOW) == Interval(0.25, 0.25, 0.25, 2)


def test_only_tasks_that_both_have_take_part() -> None:
    worse = collect([*group("a", [0]), *group("b", [1]), *group("only-here", [1])], 1.0)
    better = collect([*group("a", [1]), *group("b", [None]), *group("only-there", [0])], 1.0)
    assert task_differences(better, worse).tolist()[0] == 1.0
    assert paired_difference(better, worse, HOW).tasks == 1


def test_a_template_apart() -> None:
    worse = collect([*group("a", [0], "theft"), *group("b", [1], "fire")], 1.0)
    better = collect([*group("a", [1], "theft"), *group("b", [0], "fire")], 1.0)
    assert paired_difference(better, worse, HOW, "fire").mean == -1.0
