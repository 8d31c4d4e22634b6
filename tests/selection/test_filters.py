"""Filters over groups: the faults that others met, the window's ends, the kept share."""

import polars as pl
import pytest

from pipeline.grader_params import RewardParams
from pipeline.params import FilterParams
from pipeline.selection.filters import Reason, dispersion, filters, judge
from pipeline.selection.groups import group_stats
from tests.selection.rollouts import RULE, grades, group, row, weighing


def params(low: float = 0.0, high: float = 1.0, min_valid: int = 2, keep_solved: float = 0.0) -> FilterParams:
    """Filter params with the given window."""
    return FilterParams(min_spread=1e-6, pass_rate=(low, high), min_valid=min_valid, keep_solved=keep_solved)


def reasons(rows: list[dict[str, object]], chosen: FilterParams, rule: RewardParams = RULE) -> dict[str, str]:
    """Reason by task."""
    judged = judge(group_stats(rows, rule), filters(chosen), chosen.keep_solved)
    return dict(judged.select("task_id", "reason").iter_rows())


def test_equal_halves_have_no_spread_although_their_mean_is_between() -> None:
    assert reasons(group("a", [0.5] * 8), params()) == {"a": Reason.NO_SPREAD}


def test_float_noise_is_no_spread() -> None:
    assert reasons(group("a", [0.1 + 0.2, 0.3, 0.3]), params()) == {"a": Reason.NO_SPREAD}


def test_one_success_in_four_has_spread() -> None:
    assert reasons(group("a", [1, 0, 0, 0]), params()) == {"a": Reason.SIGNAL}


def test_parts_that_vary_while_their_sum_does_not_have_no_spread() -> None:
    rows = [row("a", 0, grades(1, economy=0)), row("a", 1, grades(0, economy=1))]
    assert reasons(rows, params(), weighing(outcome=0.5, economy=0.5)) == {"a": Reason.NO_SPREAD}


def test_process_alone_gives_spread_to_a_task_never_solved() -> None:
    rows = [row("a", 0, grades(0, economy=0)), row("a", 1, grades(0, economy=1))]
    assert reasons(rows, params(), weighing(outcome=0.5, economy=0.5)) == {"a": Reason.SIGNAL}


def test_an_outage_is_reported_as_an_outage_never_as_hard() -> None:
    rows = [*group("down", [None, None, None, 0]), *group("hard", [0, 0, 0, 0])]
    assert reasons(rows, params(low=0.1)) == {"down": Reason.TOO_FEW_VALID, "hard": Reason.NO_SPREAD}


def test_both_ends_of_the_window_are_kept() -> None:
    rows = [*group("a", [1, 0, 0, 0]), *group("b", [1, 1, 0, 0]), *group("c", [1, 1, 1, 0])]
    assert set(reasons(rows, params(0.25, 0.75)).values()) == {Reason.SIGNAL}
    assert reasons(rows, params(0.3, 0.7)) == {
        "a": Reason.BELOW_WINDOW, "b": Reason.SIGNAL, "c": Reason.ABOVE_WINDOW,
    }  # fmt: skip


def test_kept_share_of_solved_tasks_is_about_right_and_stable() -> None:
    rows = [r for i in range(400) for r in group(f"task-{i}", [1, 1])]
    chosen = params(keep_solved=0.25)
    all_at_once = reasons(rows, chosen)
    kept = [task for task, reason in all_at_once.items() if reason == Reason.SOLVED_SHARE]
    assert 70 <= len(kept) <= 130
    assert reasons(group(kept[0], [1, 1]), chosen) == {kept[0]: Reason.SOLVED_SHARE}
    assert set(reasons(rows, params(keep_solved=1.0)).values()) == {Reason.SOLVED_SHARE}


def test_a_solved_group_with_too_few_valid_rollouts_is_not_rescued() -> None:
    assert reasons(group("a", [1, None]), params(keep_solved=1.0)) == {"a": Reason.TOO_FEW_VALID}


def test_every_group_has_exactly_one_verdict() -> None:
    rows = [*group("a", [1, 0]), *group("b", [1, 1]), *group("c", [None, None])]
    judged = judge(group_stats(rows, RULE), filters(params()), 0.0)
    assert judged["verdict"].to_list() == ["kept", "dropped", "dropped"]


def test_dispersion_is_std_over_mean() -> None:
    assert dispersion(pl.Series([0.1, 0.3])) == pytest.approx(0.5)
    assert dispersion(pl.Series([0.2, 0.2])) == 0.0
    assert dispersion(pl.Series([0.0, 0.0])) is None
    assert dispersion(pl.Series([], dtype=pl.Float64)) is None
