"""Which groups carry a learning signal, and for each that does not, the documented reason.

A filter is a small class with one method over the group table. `FILTERS` order is the order of the questions: whether
the group was measured at all comes before whether it has spread, so that an outage is reported as an outage and never
as a hard task; spread comes before the window of pass rates. The first filter that objects gives the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Protocol

import polars as pl

from pipeline.params import FilterParams

LOW_DISPERSION = 0.5
"""Below this ratio a filter on spread was seen to hurt (RAGEN-2, arXiv 2604.06268: 0.33 hurt, 1.16 helped)."""


class Reason(StrEnum):
    """Why a group was kept or dropped."""

    SIGNAL = "signal"
    """Kept: measured, with spread, inside the window of pass rates."""
    SOLVED_SHARE = "solved_share"
    """Kept although every try succeeded: the share `filter.keep_solved`, so that solved skills are not forgotten."""
    TOO_FEW_VALID = "too_few_valid"
    """Dropped: fewer than `filter.min_valid` rollouts have a reward. A fault of the measurement, not a hard task."""
    NO_SPREAD = "no_spread"
    """Dropped: all rewards are equal within `filter.min_spread`, so every advantage is zero."""
    BELOW_WINDOW = "below_window"
    """Dropped: the pass rate lies below `filter.pass_rate`."""
    ABOVE_WINDOW = "above_window"
    """Dropped: the pass rate lies above `filter.pass_rate`."""


class Filter(Protocol):
    """Objects to groups."""

    def objection(self) -> pl.Expr:
        """Over the columns of `group_stats`: the reason as text, null for groups it lets pass."""


@dataclass(frozen=True, slots=True)
class TooFewValid:
    """Needs `least` rollouts with a reward."""

    least: int

    def objection(self) -> pl.Expr:
        """Null or `too_few_valid`."""
        return _text(Reason.TOO_FEW_VALID, (pl.col("valid") < self.least) | (pl.col("graded") == 0))


@dataclass(frozen=True, slots=True)
class NoSpread:
    """Needs a population standard deviation of the combined reward above `tolerance`; never looks at the mean."""

    tolerance: float

    def objection(self) -> pl.Expr:
        """Null or `no_spread`."""
        return _text(Reason.NO_SPREAD, ~(pl.col("reward_std") > self.tolerance))


@dataclass(frozen=True, slots=True)
class PassRateWindow:
    """Needs a pass rate in [low, high], both ends inside."""

    low: float
    high: float

    def objection(self) -> pl.Expr:
        """Null, `below_window` or `above_window`."""
        below = _text(Reason.BELOW_WINDOW, pl.col("pass_rate") < self.low)
        return pl.coalesce(below, _text(Reason.ABOVE_WINDOW, pl.col("pass_rate") > self.high))


def filters(params: FilterParams) -> tuple[Filter, ...]:
    """The filters of `params`, in the order in which they are asked."""
    return (TooFewValid(params.min_valid), NoSpread(params.min_spread), PassRateWindow(*params.pass_rate))


def judge(groups: pl.DataFrame, asked: Sequence[Filter], keep_solved: float) -> pl.DataFrame:
    """`groups` with two more columns: `verdict` (kept, dropped) and `reason` (a `Reason`).

    `keep_solved` of the always solved groups stay although they have no spread or lie above the window; which ones
    hangs on the hash of task_id alone, so that a task keeps its place when others come and go.
    """
    judged = groups.with_columns(pl.coalesce(*(question.objection() for question in asked)).alias("reason"))
    measured = pl.col("reason") != Reason.TOO_FEW_VALID.value
    rescued = _lots(groups, keep_solved) & (pl.col("pass_rate") == 1.0) & measured
    reason = pl.when(rescued).then(pl.lit(Reason.SOLVED_SHARE.value)).otherwise("reason").fill_null(Reason.SIGNAL.value)
    kept = pl.col("reason").is_in([Reason.SIGNAL.value, Reason.SOLVED_SHARE.value])
    verdict = pl.when(kept).then(pl.lit("kept")).otherwise(pl.lit("dropped"))
    return judged.with_columns(reason.alias("reason")).with_columns(verdict.alias("verdict")).select(
        *groups.columns, "verdict", "reason"
    )


def dispersion(spreads: pl.Series) -> float | None:
    """Std/Mean (population) of the kept groups' spreads; None when there is none or all are zero.

    A small ratio says that the groups barely differ, so choosing among them by spread gains little.
    """
    known = spreads.drop_nulls()
    mean, std = known.mean(), known.std(ddof=0)
    if not isinstance(mean, float) or not isinstance(std, float) or mean == 0:
        return None
    return std / mean


def _text(reason: Reason, objects: pl.Expr) -> pl.Expr:
    return pl.when(objects).then(pl.lit(reason.value))


def _lots(groups: pl.DataFrame, share: float) -> pl.Expr:
    drawn = [int(sha256(task.encode()).hexdigest()[:8], 16) < share * 2**32 for task in groups["task_id"]]
    return pl.lit(pl.Series("lot", drawn, pl.Boolean))
