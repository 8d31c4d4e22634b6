"""Group statistics: hand-computed values, nulls, duplicates, order and threads."""

import json
import os
import random
import subprocess
import sys
from math import nan, sqrt
from statistics import fmean, pstdev
from typing import Any

import polars as pl
import pytest

from pipeline.errors import InputError
from pipeline.grader_params import RewardParams
from pipeline.graders.reward import rewards
from pipeline.records import Grade, StopReason
from pipeline.rows import grades_to_json
from pipeline.selection.groups import wilson
from tests.selection.rollouts import RULE, grades, group, row, stats, weighing


def only(rows: list[dict[str, object]], rule: RewardParams = RULE) -> dict[str, Any]:
    """The one group of `rows`."""
    return stats(rows, rule).row(0, named=True)


def test_population_and_sample_spread_of_one_success_in_four() -> None:
    found = only(group("a", [1, 0, 0, 0]))
    assert found["reward_mean"] == 0.25
    assert found["reward_std"] == pytest.approx(sqrt(3) / 4)
    assert found["reward_std_sample"] == 0.5
    assert (found["tries"], found["valid"], found["successes"], found["pass_rate"]) == (4, 4, 1, 0.25)


def test_wilson_matches_the_textbook() -> None:
    counts = pl.DataFrame({"c": [1, 0, 0], "n": [4, 10, 0]})
    low, high = wilson(pl.col("c"), pl.col("n"))
    found = counts.select(low.alias("low"), high.alias("high"))
    assert found["low"].to_list() == pytest.approx([0.0455873, 0.0, 0.0], abs=1e-6)
    assert found["high"].to_list() == pytest.approx([0.6993582, 0.2775328, 1.0], abs=1e-6)


def test_two_halves_are_no_success() -> None:
    found = only(group("a", [0.5, 0.5]))
    assert (found["successes"], found["pass_rate"], found["outcome_mean"]) == (0, 0.0, 0.5)


def test_a_broken_environment_takes_no_part_in_mean_spread_or_pass_rate() -> None:
    found = only(group("a", [1, None, 1, None]))
    assert (found["tries"], found["valid"], found["reward_mean"], found["reward_std"]) == (4, 2, 1.0, 0.0)
    assert (found["pass_rate"], found["share_environment_error"], found["share_finished"]) == (1.0, 0.5, 0.5)


def test_nothing_known_is_null_not_zero() -> None:
    found = only(group("a", [None, None]))
    assert (found["valid"], found["graded"]) == (0, 0)
    assert [found[name] for name in ("reward_mean", "reward_std", "pass_rate", "outcome_mean")] == [None] * 4
    assert (found["pass_low"], found["pass_high"]) == (0.0, 1.0)


def test_nan_is_null_and_does_not_poison_the_group() -> None:
    rest = [row("a", number, grades(1.0, economy=1.0)) for number in (1, 2)]
    rule = weighing(outcome=1, economy=0)
    assert only([row("a", 0, grades(1.0, economy=nan)), *rest], rule)["valid"] == 2
    assert only([row("a", 0, grades(1.0)), *rest], rule)["valid"] == 2, "absent here, present in the others: null"
    found = only([row("a", 0, grades(nan)), *group("a", [0, 1, 0])[1:]])
    assert (found["valid"], found["reward_mean"], found["pass_rate"]) == (2, 0.5, 0.5)


def test_process_mean_is_apart_from_the_outcome() -> None:
    found = only([row("a", 0, grades(0, procedure=1.0, economy=0.5)), row("a", 1, grades(1, procedure=None))])
    assert (found["outcome_mean"], found["process_mean"]) == (0.5, 0.75)


def test_a_shard_read_twice_counts_once() -> None:
    rows = group("a", [1, 0, 0])
    assert stats(rows + rows).equals(stats(rows))


def test_a_try_with_two_contents_is_an_error() -> None:
    with pytest.raises(InputError, match="task a: try 1 appears 2 times with different contents"):
        stats([*group("a", [1, 0]), row("a", 1, grades(1))])


def test_two_models_in_one_group_are_an_error() -> None:
    with pytest.raises(InputError, match="one group holds rollouts of rl and sft"):
        stats([row("a", 0, grades(1)), row("a", 1, grades(1), model="rl")])


def test_order_of_rows_leaves_no_trace() -> None:
    draw = random.Random(3)
    rows = [r for task in range(40) for r in group(f"t{task:02}", [draw.random() for _ in range(7)])]
    straight = stats(rows)
    draw.shuffle(rows)
    assert stats(rows).equals(straight)


COUNT_BYTES = """
import random, polars as pl
from tests.selection.rollouts import group, stats
draw = random.Random(3)
rows = [r for task in range(300) for r in group(f"t{task}", [draw.random() for _ in range(9)])]
print(pl.thread_pool_size(), stats(rows).hash_rows().sum())
"""


def test_threads_leave_no_trace() -> None:
    def digest(threads: int) -> list[str]:
        environment = os.environ | {"POLARS_MAX_THREADS": str(threads)}
        run = subprocess.run([sys.executable, "-c", COUNT_BYTES], env=environment, capture_output=True, check=True)
        return run.stdout.decode().split()

    one, many = digest(1), digest(4)
    assert (one[0], many[0]) == ("1", "4")
    assert one[1] == many[1]


def test_every_stop_reason_has_a_share() -> None:
    rows = [row("a", i, grades(0), stop) for i, stop in enumerate(StopReason)]
    found = stats(rows).select(pl.col("^share_.*$")).row(0)
    assert found == tuple([1 / len(StopReason)] * len(StopReason))


def test_more_tries_than_bits_are_told_apart_too() -> None:
    found = only(group("a", [n % 2 for n in range(150)]))
    assert (found["tries"], found["valid"], found["pass_rate"]) == (150, 150, 0.5)


def test_large_scores_lose_no_digit_that_matters_and_absurd_ones_are_refused() -> None:
    found = only(group("a", [1e6, -1e6, 5.5]))
    assert found["reward_mean"] == pytest.approx(5.5 / 3, abs=1e-9)
    assert found["reward_std"] == pytest.approx(pstdev([1e6, -1e6, 5.5]), rel=1e-9)
    with pytest.raises(InputError, match="too large to compare"):
        stats(group("a", [1e200, 1]))


def test_pass_hat_and_spreads_of_single_grades() -> None:
    rows = [row("a", n, grades(n > 0, economy=n / 3)) for n in range(4)]
    found = stats(rows, k=3).row(0, named=True)
    assert found["pass_hat_k"] == pytest.approx(1 / 4), "C(3, 3) / C(4, 3)"
    spreads = json.loads(found["grade_stds"])
    assert spreads["outcome"] == pytest.approx(pstdev([0, 1, 1, 1]))
    assert spreads["economy"] == pytest.approx(pstdev([0, 1 / 3, 2 / 3, 1]))
    assert stats(rows[:2], k=3)["pass_hat_k"].to_list() == [None]


def test_environments_with_other_grades_are_rewarded_by_their_own() -> None:
    rows = [
        *[row("a", n, grades(n, economy=0.5)) for n in (0, 1)],
        *[row("b", n, grades(n), environment="orders") for n in (0, 1)],
    ]
    found = stats(rows, weighing(outcome=1, economy=1))
    assert found["reward_mean"].to_list() == [0.5, 0.5]
    assert [json.loads(text) for text in found["grade_stds"]] == [{"economy": 0.0, "outcome": 0.5}, {"outcome": 0.5}]


def test_a_group_with_fewer_tries_than_planned_is_marked() -> None:
    found = stats([*group("a", [1, 0]), *group("b", [1, 0, 0])], tries=3)
    assert found["stopped_early"].to_list() == [True, False]


@pytest.mark.parametrize("combine", ["weighted", "all", "hybrid"])
def test_rewards_are_those_of_the_graders(combine: str) -> None:
    draw = random.Random(8)
    required = ("procedure",) if combine == "hybrid" else ()
    rule = RewardParams.model_validate(
        {"success_at": 1, "combine": combine, "required": required, "weights": {"outcome": 0.7, "procedure": 0.3}}
    )
    given = [
        [Grade("outcome", "outcome", draw.choice([0.0, 0.3, 1.0, None])),
         Grade("calls", "process", 0.5, turn=1),
         *([Grade("procedure", "process", draw.choice([0.25, 1.0]), draw.choice([None, True, False]))] * (n % 3 > 0))]
        for n in range(40)
    ]  # fmt: skip
    rows = [row(f"t{n // 4:02}", n % 4, grades_to_json(tuple(one))) for n, one in enumerate(given)]
    found = stats(rows, rule)
    for place in range(10):
        known = [one for one in rewards(given[4 * place : 4 * place + 4], rule) if one is not None]
        assert found["valid"][place] == len(known)
        assert found["reward_mean"][place] == (pytest.approx(fmean(known), abs=1e-15) if known else None)


def test_batches_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(4)
    rows = [r for task in range(9) for r in group(f"t{task}", [draw.choice([0.0, 0.3, 1.0, None]) for _ in range(7)])]
    draw.shuffle(rows)
    whole = stats(rows)
    monkeypatch.setattr("pipeline.selection.adding.BATCH", 5)
    assert stats(rows).equals(whole)


def test_large_groups_read_twice_lose_no_digit_either() -> None:
    draw = random.Random(5)
    rows = group("a", [draw.random() for _ in range(200)])
    assert stats(rows + rows).equals(stats(rows))


def test_rollouts_with_more_grades_further_down_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*group("a", [1, 0]), *(row("b", n, grades(1, economy=n / 2)) for n in range(2))]
    monkeypatch.setattr("pipeline.selection.adding.BATCH", 2)
    assert [json.loads(text) for text in stats(rows)["grade_stds"]][1]["economy"] == 0.25


def test_a_try_without_a_grade_that_others_have_earns_nothing_wherever_they_stand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [row("a", 0, grades(1)), *(row("a", n, grades(1, economy=0.5)) for n in (1, 2)), *group("b", [1, 1])]
    monkeypatch.setattr("pipeline.selection.adding.BATCH", 1)
    found = stats(rows, weighing(outcome=1, economy=1))
    assert (found["valid"].to_list(), found["reward_mean"].to_list()) == ([2, 2], [0.75, 1.0])
