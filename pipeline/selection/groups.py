"""Statistics of groups: the tries of one task by one policy.

The reward is computed here, from grades and the weights in params. A rollout whose reward could not be had counts as a
try and in its stop reason, never in a mean or a spread. polars reads the rollouts in batches, whose tries are added up
by task. Sums are exact (`pipeline.selection.exact`), so the order of rows, shards read twice and the number of threads
leave no trace in a digit.
"""

from collections.abc import Sequence

import polars as pl

from pipeline.errors import InputError
from pipeline.grader_params import RewardParams
from pipeline.graders.reward import OUTCOME, check_given
from pipeline.records import GROUPS, StopReason
from pipeline.selection.adding import TEXTS, Sums, add_up
from pipeline.selection.exact import MOST, USUAL, Scale, mean, scale_for, variance
from pipeline.selection.tries import GRADE_COLUMNS, SCORED, Shape, grade_names, unevenly_graded

COLUMNS = (
    "task_id", "environment", "template", "try_index", "model", "stop_reason", "turn_count", "token_count",
    *GRADE_COLUMNS,
)  # fmt: skip
"""Columns of `records.ROLLOUTS` that `group_stats` needs; where a try stands twice, it compares all that are there."""

Z_95 = 1.959963984540054
"""Two-sided 95 % point of the normal distribution."""

GROUP_COLUMNS = tuple(name for name in GROUPS.names if name not in ("verdict", "reason"))
"""Columns of `group_stats`, in order."""


def group_stats(rollouts: pl.LazyFrame, rule: RewardParams, *, k: int, tries: int = 0) -> pl.DataFrame:
    """One row a task, sorted by task_id, with the columns of `records.GROUPS` but for verdict and reason.

    `k` is that of pass^k. A group with fewer than `tries` tries is marked `stopped_early`. A statistic that no rollout
    could give is null. The same try twice counts once; two different rollouts under one task and try, or two models in
    one group, raise InputError; a reward that hangs on a grade that no rollout has, ParamsError.
    """
    sums, scale = _exact_sums(rollouts, rule)
    if sums.models > 1:
        _refuse_two_models(sums.groups, rollouts)
    found = sums.groups.lazy().select(_statistics(sums.shapes, scale, k, tries))
    low, high = wilson(pl.col("successes"), pl.col("graded"))
    return found.with_columns(low.alias("pass_low"), high.alias("pass_high")).select(GROUP_COLUMNS).collect()


def wilson(successes: pl.Expr, n: pl.Expr, z: float = Z_95) -> tuple[pl.Expr, pl.Expr]:
    """Ends of Wilson's score interval of a share (Wilson 1927); 0 and 1 where n is 0, for nothing is known then."""
    share, square = successes / n, z * z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * (share * (1 - share) / n + square / (4 * n * n)).sqrt()
    low, high = (middle - half).clip(lower_bound=0.0), (middle + half).clip(upper_bound=1.0)
    return pl.when(n > 0).then(low).otherwise(0.0), pl.when(n > 0).then(high).otherwise(1.0)


def _exact_sums(rollouts: pl.LazyFrame, rule: RewardParams) -> tuple[Sums, Scale]:
    """Sums of each group, and their units. Most often one look is enough; repeats and the like take another each."""
    sums, scale = add_up(rollouts, rule, USUAL), USUAL
    if sums.shapes:
        check_given(rule, (name for shape in sums.shapes for name in shape.usable()))
    twice = sums.groups.filter(pl.col("tries") != pl.col("numbers").bitwise_count_ones()).select("task_id").lazy()
    if twice.head(1).collect().height:
        once = _without_repeats(rollouts.join(twice, on="task_id", how="semi"))
        rollouts = pl.concat([rollouts.select(COLUMNS).join(twice, on="task_id", how="anti"), once.select(COLUMNS)])
        sums = add_up(rollouts, rule, scale)
    if names := unevenly_graded(sums.shapes, rule):
        scored = sums.groups.lazy().select("task_id", *((_count(name) > 0).alias(SCORED + name) for name in names))
        rollouts = rollouts.join(scored, on="task_id", how="left")
        sums = add_up(rollouts, rule, scale)
    most = max([0, *sums.groups["tries"].top_k(1).to_list()])
    if sums.largest > 1.0 or most > MOST:
        scale = scale_for(sums.largest, most)
        sums = add_up(rollouts, rule, scale)
    return sums, scale


def _count(grade: str) -> pl.Expr:
    return pl.col(f"grade.{grade}.n")


def _without_repeats(rollouts: pl.LazyFrame) -> pl.LazyFrame:
    """Equal rows once. Raises InputError where two of one task and try differ."""
    key = ["task_id", "try_index"]
    plain = [name for name, kind in rollouts.collect_schema().items() if not kind.is_nested()]
    scores = pl.struct("grade_scores", "grade_passed").struct.json_encode().alias("scores")
    once = rollouts.with_columns(scores).unique(subset=[*plain, "scores"]).collect()
    odd = once.group_by(key).len().filter(pl.col("len") > 1).sort(key)
    if odd.height:
        task, number, count = odd.row(0)
        raise InputError(
            f"task {task}: try {number} appears {count} times with different contents; keep the rollouts of one run "
            "only (run the stage that writes them again)"
        )
    return once.lazy()


def _refuse_two_models(groups: pl.DataFrame, rollouts: pl.LazyFrame) -> None:
    """Raises InputError where the numbers of a group's models vary: then `n Q > S^2`."""
    mixed = groups.filter(pl.col("tries") * pl.col("model.squares") != pl.col("model") ** 2)
    if mixed.height:
        task = mixed["task_id"][0]
        names = rollouts.filter(pl.col("task_id") == task).select(pl.col("model").unique().sort()).collect()["model"]
        raise InputError(
            f"task {task}: one group holds rollouts of {names[0]} and {names[-1]}; profile each model into a file of "
            "its own and compare them by `python -m pipeline tasks compare`"
        )


def _statistics(shapes: Sequence[Shape], scale: Scale, k: int, tries: int) -> list[pl.Expr]:
    made, successes, graded = pl.col("tries"), pl.col("success"), _count(OUTCOME)
    both = (("", 0), ("_sample", 1))
    variances = [(end, variance("reward", scale, ddof)) for end, ddof in both]
    return [
        pl.col("task_id", *TEXTS, "tries"), successes.alias("successes"), graded.alias("graded"),
        pl.col("reward.n").alias("valid"), mean("reward", scale).alias("reward_mean"),
        *(value.alias(f"reward_var{end}") for end, value in variances),
        *(value.sqrt().alias(f"reward_std{end}") for end, value in variances),
        pl.when(graded > 0).then(successes / graded).alias("pass_rate"),
        _pass_hat(successes, graded, k).alias("pass_hat_k"), mean(f"grade.{OUTCOME}", scale).alias("outcome_mean"),
        mean("process", scale).alias("process_mean"), _grade_stds(shapes, scale).alias("grade_stds"),
        (pl.col("turn_count") / made).alias("turns_mean"), (pl.col("token_count") / made).alias("tokens_mean"),
        *((pl.col(f"stop.{reason.value}") / made).alias(f"share_{reason.value}") for reason in StopReason),
        (made < tries).alias("stopped_early"),
    ]  # fmt: skip


def _pass_hat(successes: pl.Expr, n: pl.Expr, k: int) -> pl.Expr:
    """pass^k = C(c, k) / C(n, k), the chance that all of k tries succeed; null where n < k (arXiv 2406.12045)."""
    chance = pl.lit(1.0)
    for step in range(k):
        chance = chance * (successes - step).clip(lower_bound=0) / (n - step)
    return pl.when(n >= k).then(chance)


def _grade_stds(shapes: Sequence[Shape], scale: Scale) -> pl.Expr:
    """JSON text of the population standard deviation of each grade that the group's environment gives."""
    found = pl.lit("{}")
    worlds: dict[tuple[str, ...], list[str]] = {}
    for world in sorted({shape.environment for shape in shapes}):
        names = tuple(grade_names([shape for shape in shapes if shape.environment == world]))
        worlds.setdefault(names, []).append(world)
    for names, alike in worlds.items():
        if names:
            stds = pl.struct(variance(f"grade.{name}", scale).sqrt().alias(name) for name in names)
            found = pl.when(pl.col("environment").is_in(alike)).then(stds.struct.json_encode()).otherwise(found)
    return found
