"""Statistics of groups: the tries of one task by one policy.

The reward is computed here, from grades and the weights in params. A rollout whose reward could not be had counts as a
try and in its stop reason, never in a mean or a spread. Rows are sorted first and every statistic is taken over one
group's list, so the order of rows, shards read twice and the number of threads leave no trace in a digit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import polars as pl

from pipeline.errors import InputError
from pipeline.grader_params import RewardParams
from pipeline.graders.reward import check_given, outcome, process, reward, scored_names, success, usable_names
from pipeline.records import GROUPS, StopReason
from pipeline.rows import Row, grades_from_json

COLUMNS = (
    "task_id", "environment", "template", "try_index", "model", "stop_reason", "grades", "turn_count", "token_count",
)  # fmt: skip
"""Columns of `records.ROLLOUTS` that `group_stats` reads."""

Z_95 = 1.959963984540054
"""Two-sided 95 % point of the normal distribution."""

_KEY = ["task_id", "try_index"]
_TRIES = {
    "task_id": pl.String, "environment": pl.String, "template": pl.String, "try_index": pl.Int64, "model": pl.String,
    "stop_reason": pl.String, "reward": pl.Float64, "success": pl.Float64, "outcome": pl.Float64,
    "process": pl.Float64, "turns": pl.Float64, "tokens": pl.Float64,
}  # fmt: skip


def group_stats(rows: Iterable[Row], rule: RewardParams) -> pl.DataFrame:
    """One row a task, sorted by task_id.

    Columns: task_id, environment, template, tries, valid (rollouts with a reward), reward_mean, reward_std
    (population), reward_std_sample (n - 1), graded (rollouts with an outcome), successes, pass_rate, pass_low and
    pass_high (95 % Wilson), outcome_mean, process_mean, turns_mean, tokens_mean, and one share of tries for each stop
    reason.
    A statistic that no rollout could give is null. The same try twice counts once; two different rollouts under one
    task and try, or two models in one group, raise InputError; a reward that hangs on a grade that no rollout has,
    ParamsError.
    """
    read = [_try(row, rule) for row in rows]
    _check_names(read, rule)
    tries = pl.DataFrame([one.columns for one in read], schema=_TRIES, orient="row")
    tries = tries.unique(maintain_order=True).sort(_KEY)
    _refuse_conflicts(tries)
    groups = tries.group_by("task_id", maintain_order=True).agg(pl.all().exclude("task_id")).select(_STATISTICS)
    bounds = [wilson(successes, n) for successes, n in groups.select("successes", "graded").iter_rows()]
    return groups.with_columns(
        pl.Series("pass_low", [low for low, _ in bounds], pl.Float64),
        pl.Series("pass_high", [high for _, high in bounds], pl.Float64),
    ).select(GROUP_COLUMNS)


def wilson(successes: int, n: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval of a share (Wilson 1927); (0, 1) when n is 0, for nothing is known then."""
    if n == 0:
        return 0.0, 1.0
    share, square = successes / n, z * z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True, slots=True)
class _Try:
    columns: dict[str, Any]
    names: frozenset[str]
    """Episode grades that a reward may hang on."""
    scored: frozenset[str]
    """Those with a score that the reward does hang on."""


def _try(row: Row, rule: RewardParams) -> _Try:
    grades = grades_from_json(row["grades"])
    reached = _finite(outcome(grades))
    columns = {
        **{name: row[name] for name in ("task_id", "environment", "template", "try_index", "model", "stop_reason")},
        "reward": _finite(reward(grades, rule)), "outcome": reached,
        "success": None if reached is None else _finite(success(grades, rule.success_at)),
        "process": _finite(process(grades)),
        "turns": row["turn_count"], "tokens": row["token_count"],
    }  # fmt: skip
    return _Try(columns, frozenset(usable_names(grades)), frozenset(scored_names(grades, rule)))


def _check_names(tries: Sequence[_Try], rule: RewardParams) -> None:
    """Refuse a reward of unknown grades; take it from a try that lacks what another of its task has, as `rewards`."""
    if tries:
        check_given(rule, (name for one in tries for name in one.names))
    wanted: dict[str, set[str]] = {}
    for one in tries:
        wanted.setdefault(one.columns["task_id"], set()).update(one.scored)
    for one in tries:
        if not wanted[one.columns["task_id"]] <= one.names:
            one.columns["reward"] = None


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and isfinite(value) else None


def _without_odd_rewards(tries: pl.DataFrame, rule: RewardParams, given: dict[str, set[str]]) -> pl.DataFrame:
    """No reward where a try lacks a grade that another try of its task has, see `graders.reward.rewards`."""
    wanted = pl.Series([len(given[task] & set(rule.names())) for task in tries["task_id"]], dtype=pl.Int64)
    return tries.with_columns(pl.when(pl.col("named") == wanted).then("reward").alias("reward"))


def _refuse_conflicts(tries: pl.DataFrame) -> None:
    twice = tries.filter(tries.select(_KEY).is_duplicated())
    if twice.height:
        task, number = twice.row(0)[0], twice["try_index"][0]
        raise InputError(
            f"task {task}: try {number} appears {twice.filter(pl.col('task_id') == task).height} times with different "
            "contents; keep the rollouts of one run only (run the stage that writes them again)"
        )
    models = tries.group_by("task_id").agg(pl.col("model").unique().sort()).filter(pl.col("model").list.len() > 1)
    if models.height:
        task, names = models.sort("task_id").row(0)
        raise InputError(f"task {task}: one group holds rollouts of {', '.join(names)}; compare models by `evaluate`")


def _known(name: str) -> pl.Expr:
    return pl.col(name).list.drop_nulls()


def _share(reason: StopReason) -> pl.Expr:
    count = pl.col("stop_reason").list.count_matches(reason.value)
    return (count / pl.col("stop_reason").list.len()).alias(f"share_{reason.value}")


_STATISTICS = (
    pl.col("task_id"), pl.col("environment").list.first(), pl.col("template").list.first(),
    pl.col("try_index").list.len().cast(pl.Int64).alias("tries"),
    _known("reward").list.len().cast(pl.Int64).alias("valid"),
    _known("reward").list.mean().alias("reward_mean"),
    _known("reward").list.std(ddof=0).alias("reward_std"),
    _known("reward").list.std(ddof=1).alias("reward_std_sample"),
    _known("success").list.len().cast(pl.Int64).alias("graded"),
    _known("success").list.sum().cast(pl.Int64).alias("successes"),
    _known("success").list.mean().alias("pass_rate"),
    _known("outcome").list.mean().alias("outcome_mean"),
    _known("process").list.mean().alias("process_mean"),
    pl.col("turns").list.mean().alias("turns_mean"), pl.col("tokens").list.mean().alias("tokens_mean"),
    *(_share(reason) for reason in StopReason),
)  # fmt: skip

GROUP_COLUMNS = tuple(name for name in GROUPS.names if name not in ("verdict", "reason"))
"""Columns of `group_stats`, in order."""
