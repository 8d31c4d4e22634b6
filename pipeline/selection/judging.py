"""Asks the filters one by one, and measures whether choosing by spread can help."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

import polars as pl

from pipeline.selection.filters import CUT, Filter
from pipeline.selection.lots import lots
from pipeline.selection.reasons import KEPT, RESCUED, Reason

LOW_DISPERSION = 0.5
"""Below this ratio a filter on spread was seen to hurt (RAGEN-2, arXiv 2604.06268: 0.33 hurt, 1.16 helped)."""

ASKED_ABOUT = (
    "task_id", "environment", "template", "valid", "graded", "successes", "pass_rate", "reward_std", "reward_var",
    "turns_mean", "tokens_mean", *CUT, "text", "golden_fails",
)  # fmt: skip
"""Columns that filters look at: copying all others from step to step would take most of the time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How many groups a filter was asked about, and how many it objected to."""

    asked: int
    dropped: int


def judge(groups: pl.DataFrame, filters: Sequence[Filter], keep_solved: float) -> tuple[pl.DataFrame, list[Asked]]:
    """`groups` with two more columns, `verdict` (kept, dropped) and `reason` (a `Reason`), and each filter's counts.

    A group without an outcome is dropped before any filter is asked: what has no pass rate cannot be practised by it.
    `keep_solved` of the always solved groups stay although they have no spread or lie above a window; which ones hangs
    on their task_id alone.
    """
    narrow = groups.select(name for name in groups.columns if name in ASKED_ABOUT).with_row_index("place")
    standing, silent = _parted(narrow, pl.when(pl.col("graded") == 0).then(pl.lit(Reason.TOO_FEW_VALID.value)))
    judged, counts = [silent], []
    for one in filters:
        before = standing.height
        standing, dropped = _parted(standing, one.objection(standing))
        judged.append(dropped)
        counts.append(Asked(before, dropped.height))
    passed = standing.select("place", pl.lit(None, pl.String).alias("reason"))
    reasons = pl.concat([*judged, passed]).sort("place")["reason"]
    whole = _rescue(groups.with_columns(reasons), keep_solved)
    kept = pl.col("reason").is_in([reason.value for reason in KEPT])
    verdict = pl.when(kept).then(pl.lit("kept")).otherwise(pl.lit("dropped")).alias("verdict")
    return whole.select(*groups.columns, verdict, "reason"), counts


def _parted(groups: pl.DataFrame, objection: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The groups without an objection, and place and reason of the others."""
    asked = groups.select("place", objection.alias("reason"))
    passes = asked["reason"].is_null()
    return groups.filter(passes), asked.filter(~passes)


def _rescue(groups: pl.DataFrame, share: float) -> pl.DataFrame:
    passed = groups.with_columns(pl.col("reason").fill_null(Reason.SIGNAL.value))
    if not share:
        return passed
    may = passed.filter((pl.col("pass_rate") == 1.0) & pl.col("reason").is_in([reason.value for reason in RESCUED]))
    drawn = may["task_id"].filter(lots(may["task_id"]) < share)
    solved = pl.when(pl.col("task_id").is_in(drawn.implode())).then(pl.lit(Reason.SOLVED_SHARE.value))
    return passed.with_columns(solved.otherwise("reason").alias("reason"))


def dispersion(spreads: pl.Series) -> float | None:
    """Std/Mean (population) of the kept groups' spreads; None when there is none or all are zero.

    A small ratio says that the groups barely differ, so choosing among them by spread gains little.
    """
    known = spreads.drop_nulls().to_list()
    total = fsum(known)
    if not total > 0:
        return None
    mean = total / len(known)
    return sqrt(fsum((value - mean) ** 2 for value in known) / len(known)) / mean
