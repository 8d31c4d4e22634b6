"""Filters over groups: each step's rule, the order of the steps, published recipes, the kept share."""

from typing import Any

import polars as pl
import pytest

from pipeline.filter_params import FilterParams
from pipeline.grader_params import RewardParams
from pipeline.records import StopReason
from pipeline.selection.filters import make_filter
from pipeline.selection.judging import dispersion, judge
from pipeline.selection.reasons import Reason
from pipeline.selection.recipes import RECIPES
from tests.selection.rollouts import RULE, grades, group, row, stats, weighing

SPREAD = {"kind": "spread"}


def judged(groups: pl.DataFrame, *steps: dict[str, Any], keep_solved: float = 0.0) -> dict[str, str]:
    """Reason by task."""
    params = FilterParams.model_validate({"steps": steps, "keep_solved": keep_solved})
    table, _ = judge(groups, [make_filter(step) for step in params.steps], keep_solved)
    return dict(table.select("task_id", "reason").iter_rows())


def reasons(
    rows: list[dict[str, Any]], *steps: dict[str, Any], rule: RewardParams = RULE, keep_solved: float = 0.0
) -> dict[str, str]:
    """Reason by task, of rollouts."""
    return judged(stats(rows, rule), *steps, keep_solved=keep_solved)


def spreads(**stds: float) -> pl.DataFrame:
    """Groups of two tries whose rewards have these population standard deviations; all of one environment."""
    rows = [row(task, n, grades(2 * n * std)) for task, std in stds.items() for n in (0, 1)]
    return stats(rows)


def window(low: float, high: float) -> dict[str, Any]:
    return {"kind": "pass_rate", "window": [low, high]}


def test_both_ends_of_the_window_are_kept() -> None:
    rows = [*group("a", [1, 0, 0, 0]), *group("b", [1, 1, 0, 0]), *group("c", [1, 1, 1, 0])]
    assert set(reasons(rows, window(0.25, 0.75)).values()) == {Reason.SIGNAL}
    assert reasons(rows, window(0.3, 0.7)) == {
        "a": Reason.BELOW_WINDOW, "b": Reason.SIGNAL, "c": Reason.ABOVE_WINDOW,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("recipe", "kept"),
    [
        ("dapo", range(1, 8)), ("skywork_or1", range(1, 8)), ("prime", range(2, 7)), ("polaris", range(8)),
        ("qwen2_5_math", range(2, 6)), ("olmo3", range(6)), ("llama_nemotron", range(6)), ("minimax_m1", range(1, 8)),
        ("deepseek_v3_2", range(1, 9)), ("scale_rl", range(8)), ("nemotron3_nano", range(8)),
    ],
)  # fmt: skip
def test_recipes_keep_what_their_authors_say_of_eight_tries(recipe: str, kept: range) -> None:
    rows = [one for solved in range(9) for one in group(str(solved), [1] * solved + [0] * (8 - solved))]
    found = reasons(rows, {"kind": "pass_rate", "recipe": recipe})
    assert [int(task) for task, reason in found.items() if reason == Reason.SIGNAL] == list(kept)


def test_every_recipe_can_be_named() -> None:
    for recipe in RECIPES:
        FilterParams.model_validate({"steps": [{"kind": "pass_rate", "recipe": recipe}], "keep_solved": 0})


def test_top_share_keeps_the_highest_spreads_and_never_a_flat_group() -> None:
    groups = spreads(a=0.1, b=0.4, c=0.2, d=0.0)
    assert judged(groups, SPREAD | {"top_share": 0.5}) == {
        "a": Reason.LOW_SPREAD, "b": Reason.SIGNAL, "c": Reason.SIGNAL, "d": Reason.NO_SPREAD,
    }  # fmt: skip
    assert judged(spreads(a=0.0, b=0.0), SPREAD | {"top_share": 1.0}) == {"a": Reason.NO_SPREAD, "b": Reason.NO_SPREAD}
    assert list(judged(spreads(a=0.2, b=0.2, c=0.2), SPREAD | {"top_share": 0.4}).values()).count("signal") == 1


def test_top_mass_keeps_the_fewest_groups_that_hold_it() -> None:
    groups = spreads(a=0.1, b=0.4, c=0.3, d=0.0)
    found = judged(groups, SPREAD | {"top_mass": 0.85, "slack": 0})
    assert [task for task, why in found.items() if why == Reason.SIGNAL] == ["b", "c"]
    assert judged(groups, SPREAD | {"top_mass": 0.9})["a"] == Reason.SIGNAL, "0.7 of 0.8 is less than 0.72 - 0.01"
    by_variance = judged(groups, SPREAD | {"top_mass": 0.9, "score": "variance"})
    assert by_variance["a"] == Reason.LOW_SPREAD, "0.25 of 0.26 is enough"


def test_never_solved_is_apart_from_hard_and_from_not_measured() -> None:
    rows = [*group("never", [0, 0]), *group("once", [1, 0]), *group("few", [0, None])]
    found = reasons(rows, {"kind": "broken", "least": 2})
    assert found == {"never": Reason.NEVER_SOLVED, "once": Reason.SIGNAL, "few": Reason.SIGNAL}


def test_a_golden_run_that_fails_comes_before_never_solved() -> None:
    groups = stats([*group("a", [0, 0]), *group("b", [1, 0])]).with_columns(golden_fails=pl.Series([True, False]))
    found = judged(groups, {"kind": "broken", "golden": True})
    assert found == {"a": Reason.GOLDEN_FAILS, "b": Reason.SIGNAL}


def test_too_long_by_turns_tokens_or_tries_cut() -> None:
    rows = [
        *[row("turns", n, grades(n), turn_count=30) for n in (0, 1)],
        *[row("tokens", n, grades(n), token_count=900) for n in (0, 1)],
        row("cut", 0, grades(0), StopReason.MAX_TURNS), row("cut", 1, grades(1)), *group("fine", [1, 0]),
    ]  # fmt: skip
    found = reasons(rows, {"kind": "too_long", "max_turns": 20, "max_tokens": 800, "max_cut": 0.4})
    assert found == {
        "cut": Reason.TOO_LONG, "fine": Reason.SIGNAL, "tokens": Reason.TOO_LONG, "turns": Reason.TOO_LONG,
    }  # fmt: skip


def test_of_near_duplicates_the_one_with_most_spread_is_kept() -> None:
    said = "please settle the claim of customer seven about the theft of a bicycle and pay what the policy owes"
    texts = {"a": said, "b": f"{said} {said} now", "c": "look up order nine and cancel it", "d": said.upper() + "!"}
    groups = spreads(a=0.1, b=0.2, c=0.3, d=0.4).with_columns(text=pl.Series(texts.values()))
    found = judged(groups, {"kind": "near_duplicate", "similarity": 0.7})
    assert found == {"a": Reason.NEAR_DUPLICATE, "b": Reason.NEAR_DUPLICATE, "c": "signal", "d": "signal"}
    assert set(judged(groups.with_columns(environment=pl.col("task_id")),
                      {"kind": "near_duplicate", "similarity": 0.7}).values()) == {"signal"}  # fmt: skip


def test_quota_bounds_the_environments_it_names() -> None:
    rows = [row(f"{env}{i}", n, grades(n * (i + 1) / 4), environment=env)
            for env in ("claims", "orders") for i in range(4) for n in (0, 1)]  # fmt: skip
    found = reasons(rows, {"kind": "quota", "most": {"claims": 2}, "by": "spread"})
    assert [task for task, why in found.items() if why == Reason.OVER_QUOTA] == ["claims0", "claims1"]
    lot = {"kind": "quota", "most": {"claims": 1, "orders": 1}}
    first = [task for task, why in reasons(rows, lot).items() if why == Reason.SIGNAL]
    assert len(first) == 2
    fewer = [one for one in rows if one["task_id"] in {*first, "claims0", "orders3"}]
    assert [task for task, why in reasons(fewer, lot).items() if why == Reason.SIGNAL] == first, "by lot, not by place"
    earlier = [one for one in rows if one["environment"] == "claims"]
    assert set(reasons(earlier, lot).values()) == {Reason.SIGNAL, Reason.OVER_QUOTA}, "none of orders is left, no fault"


def test_the_first_step_that_objects_gives_the_reason_and_later_ones_do_not_count_it() -> None:
    rows = [*group("a", [0, 0]), *group("b", [1, 0]), *group("c", [1, 1])]
    params = FilterParams.model_validate({"steps": [window(0.1, 1.0), SPREAD], "keep_solved": 0})
    table, asked = judge(stats(rows), [make_filter(step) for step in params.steps], 0.0)
    assert table["reason"].to_list() == [Reason.BELOW_WINDOW, Reason.SIGNAL, Reason.NO_SPREAD]
    assert [(one.asked, one.dropped) for one in asked] == [(3, 1), (2, 1)]
    assert reasons(rows, SPREAD, window(0.1, 1.0))["a"] == Reason.NO_SPREAD


def test_without_steps_everything_that_was_measured_is_kept() -> None:
    rows = [*group("a", [0, 0]), *group("b", [1, 1]), *group("c", [None, None])]
    assert reasons(rows) == {"a": Reason.SIGNAL, "b": Reason.SIGNAL, "c": Reason.TOO_FEW_VALID}


def test_kept_share_of_solved_tasks_is_about_right_and_stable() -> None:
    rows = [r for i in range(400) for r in group(f"task-{i}", [1, 1])]
    all_at_once = reasons(rows, SPREAD, keep_solved=0.25)
    kept = [task for task, reason in all_at_once.items() if reason == Reason.SOLVED_SHARE]
    assert 70 <= len(kept) <= 130
    assert reasons(group(kept[0], [1, 1]), SPREAD, keep_solved=0.25) == {kept[0]: Reason.SOLVED_SHARE}
    assert set(reasons(rows, SPREAD, keep_solved=1.0).values()) == {Reason.SOLVED_SHARE}


def test_what_is_not_too_well_solved_is_not_rescued() -> None:
    measured = {"kind": "too_few_valid", "least": 2}
    assert reasons(group("a", [1, None]), measured, keep_solved=1.0) == {"a": Reason.TOO_FEW_VALID}
    long = {"kind": "too_long", "max_turns": 1}
    assert reasons(group("a", [1, 1]), long, SPREAD, keep_solved=1.0) == {"a": Reason.TOO_LONG}


def test_process_alone_gives_spread_to_a_task_never_solved() -> None:
    rows = [row("a", 0, grades(0, economy=0)), row("a", 1, grades(0, economy=1))]
    assert reasons(rows, SPREAD, rule=weighing(outcome=0.5, economy=0.5)) == {"a": Reason.SIGNAL}


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"kind": "pass_rate"}, "give either window or recipe"),
        ({"kind": "pass_rate", "window": [0.9, 0.1]}, "window begins at 0.9, above its end 0.1"),
        ({"kind": "spread", "top_share": 0.5, "top_mass": 0.5}, "top_share or top_mass, not both"),
        ({"kind": "too_long"}, "no limit; give max_turns, max_tokens or max_cut"),
    ],
)
def test_a_step_that_says_nothing_or_too_much_is_refused(step: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        FilterParams.model_validate({"steps": [step], "keep_solved": 0})


def test_dispersion_is_std_over_mean() -> None:
    assert dispersion(pl.Series([0.1, 0.3])) == pytest.approx(0.5)
    assert dispersion(pl.Series([0.2, 0.2])) == 0.0
    assert dispersion(pl.Series([0.0, 0.0])) is None
    assert dispersion(pl.Series([], dtype=pl.Float64)) is None
