"""Which groups carry a learning signal, and for each that does not, the documented reason.

A filter is a small class with one method over the table of those groups that no step before it objected to. The steps
of `filter.steps` are asked in their order, so that an outage, asked about first, is reported as an outage and never as
a hard task.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import polars as pl

from pipeline.filter_params import (
    BrokenStep,
    FilterStep,
    NearDuplicateStep,
    PassRateStep,
    QuotaStep,
    SpreadStep,
    TooFewValidStep,
    TooLongStep,
)
from pipeline.selection.lots import lots
from pipeline.selection.near import repeats
from pipeline.selection.reasons import Reason
from pipeline.selection.recipes import RECIPES, Window

CUT = ("share_max_turns", "share_max_tokens", "share_context_overflow")
"""Columns of tries that a limit ended."""


class Filter(Protocol):
    """Objects to groups."""

    def objection(self, groups: pl.DataFrame) -> pl.Expr:
        """Over the rows of `groups`, a table of `records.GROUPS` by task_id: the reason, null for those it passes."""


@dataclass(frozen=True, slots=True)
class TooFewValid:
    """Needs `least` rollouts with a reward."""

    least: int

    def objection(self, groups: pl.DataFrame) -> pl.Expr:
        """Null or `too_few_valid`."""
        return _reason(Reason.TOO_FEW_VALID, pl.col("valid") < self.least)


@dataclass(frozen=True, slots=True)
class Spread:
    """Needs a spread of the combined reward above a tolerance, and a place among the highest; never looks at the mean.

    `top_share` is that of RAGEN (arXiv 2504.20073), `top_mass` and `slack` are those of RAGEN-2 (arXiv 2604.06268).
    """

    above: float
    score: Literal["std", "variance"] = "std"
    top_share: float | None = None
    top_mass: float | None = None
    slack: float = 0.01

    def objection(self, groups: pl.DataFrame) -> pl.Expr:
        """Null, `no_spread` or `low_spread`."""
        flat = _reason(Reason.NO_SPREAD, ~(pl.col("reward_std") > self.above).fill_null(False))
        column = "reward_std" if self.score == "std" else "reward_var"
        rank = pl.col(column).fill_null(0.0).rank("ordinal", descending=True)
        return pl.coalesce(flat, _reason(Reason.LOW_SPREAD, rank > self._places(groups[column].fill_null(0.0))))

    def _places(self, scores: pl.Series) -> int:
        """How many of the highest are kept; at least one."""
        if self.top_share is not None:
            return max(1, int(self.top_share * scores.len()))
        if self.top_mass is None or scores.is_empty():
            return scores.len()
        held = np.cumsum(np.sort(scores.to_numpy())[::-1])
        return int(np.argmax(held >= self.top_mass * held[-1] - self.slack)) + 1


@dataclass(frozen=True, slots=True)
class PassRate:
    """Needs a pass rate inside a window."""

    window: Window

    def objection(self, groups: pl.DataFrame) -> pl.Expr:
        """Null, `below_window` or `above_window`."""
        below = _reason(Reason.BELOW_WINDOW, self.window.below())
        return pl.coalesce(below, _reason(Reason.ABOVE_WINDOW, self.window.above()))


@dataclass(frozen=True, slots=True)
class Broken:
    """Needs a success among `least` graded tries or more, or a golden run that works (column `golden_fails`)."""

    never_solved: bool
    least: int
    golden: bool

    def objection(self, groups: pl.DataFrame) -> pl.Expr:
        """Null, `golden_fails` or `never_solved`."""
        golden = _reason(Reason.GOLDEN_FAILS, pl.col("golden_fails") if self.golden else pl.lit(False))
        never = (pl.col("successes") == 0) & (pl.col("graded") >= self.least) & self.never_solved
        return pl.coalesce(golden, _reason(Reason.NEVER_SOLVED, never))


@dataclass(frozen=True, slots=True)
class TooLong:
    """Needs episodes within limits: mean turns, mean tokens, share of tries that a limit cut."""

    max_turns: float | None
    max_tokens: float | None
    max_cut: float | None

    def objection(self, groups: pl.DataFrame) -> pl.Expr:
        """Null or `too_long`."""
        found = {"turns_mean": self.max_turns, "tokens_mean": self.max_tokens}
        long = [pl.col(name) > limit for name, limit in found.items() if limit is not None]
        if self.max_cut is not None:
            long.append(pl.sum_horizontal(CUT) > self.max_cut)
        return _reason(Reason.TOO_LONG, pl.any_horizontal(long))


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """Needs a text (column `text`) that differs from those of its environment and template with more spread."""

    similarity: float

    def objection(self, groups: pl.DataFrame) -> pl.Expr:
        """Null or `near_duplicate`."""
        return _reason(Reason.NEAR_DUPLICATE, pl.lit(pl.Series("repeats", repeats(groups, self.similarity))))


@dataclass(frozen=True, slots=True)
class Quota:
    """Needs a place among the first of its environment: by spread of the reward, or by a lot that hangs on its id."""

    most: Mapping[str, int]
    by: Literal["spread", "lot"]

    def objection(self, groups: pl.DataFrame) -> pl.Expr:
        """Null or `over_quota`."""
        order = lots(groups["task_id"]) if self.by == "lot" else -groups["reward_std"].fill_null(0.0)
        ranked = groups.select("environment", order=order).select(pl.col("order").rank("ordinal").over("environment"))
        most = pl.col("environment").replace_strict(dict(self.most), default=None, return_dtype=pl.Int64)
        return _reason(Reason.OVER_QUOTA, pl.lit(ranked["order"]) > most)


def make_filter(step: FilterStep) -> Filter:
    """The filter of one entry of `filter.steps`."""
    match step:
        case TooFewValidStep():
            return TooFewValid(step.least)
        case SpreadStep():
            return Spread(step.above, step.score, step.top_share, step.top_mass, step.slack)
        case PassRateStep():
            return PassRate(RECIPES[step.recipe] if step.recipe is not None else Window(*(step.window or ())))
        case BrokenStep():
            return Broken(step.never_solved, step.least, step.golden)
        case TooLongStep():
            return TooLong(step.max_turns, step.max_tokens, step.max_cut)
        case NearDuplicateStep():
            return NearDuplicate(step.similarity)
        case QuotaStep():
            return Quota(step.most, step.by)


def _reason(reason: Reason, objects: pl.Expr) -> pl.Expr:
    return pl.when(objects).then(pl.lit(reason.value))
