"""What training made a model forget: the suite outside all environments, kind by kind.

Its figures stand in a table of their own and are part of no other mean. A suite of size 0 has no rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.evaluation.intervals import Bootstrap, Interval, paired_difference
from pipeline.evaluation.metrics import TaskScores, mean_known, pass_at_k
from pipeline.evaluation.story import percent, points, verdict
from pipeline.evaluation.summary import interval_json, rounded

ALL = "all"
AGAINST = {"rl_base": ("rl", "base"), "rl_sft": ("rl", "sft"), "sft_base": ("sft", "base")}
"""Name of a difference: the later model, and the one it is compared with."""


@dataclass(frozen=True, slots=True)
class KindRow:
    """One kind of task, or all: pass@1 by model, and the differences of `AGAINST`, paired by task."""

    kind: str
    tasks: int
    rates: dict[str, float | None]
    differences: dict[str, Interval]


def outside_rows(models: Mapping[str, TaskScores], how: Bootstrap) -> list[KindRow]:
    """All tasks first, then kind by kind; no rows where the suite holds no tasks."""
    kinds = sorted({kind for scores in models.values() for kind in scores.templates})
    return [_row(models, how, kind) for kind in (ALL, *kinds)] if kinds else []


def outside_json(rows: Sequence[KindRow]) -> dict[str, Any]:
    """By kind: tasks, pass_at_1 by model, differences with their intervals."""
    return {
        row.kind: {
            "tasks": row.tasks, "pass_at_1": {model: rounded(rate) for model, rate in row.rates.items()},
            "differences": {name: interval_json(found) for name, found in row.differences.items()},
        }
        for row in rows
    }  # fmt: skip


def outside_sentence(rows: Sequence[KindRow]) -> str:
    """What the row of all tasks says about forgetting, in words; empty without rows."""
    if not rows:
        return ""
    base, change = rows[0].rates["base"], rows[0].differences["rl_base"]
    if not base:
        return "The base model solves none of these tasks, so nothing can be seen to be forgotten."
    said = {
        "better": "After RL it does better than base",
        "worse": "Training made it forget: after RL it does worse than base",
        "unclear": "No sure difference between RL and base",
    }[verdict(change.low, change.high)]  # fmt: skip
    return f"{said}: {percent(base)} before, {percent(rows[0].rates['rl'])} after ({points(change.mean)} points)."


def _row(models: Mapping[str, TaskScores], how: Bootstrap, kind: str) -> KindRow:
    template = None if kind == ALL else kind
    differences = {
        name: paired_difference(models[later], models[earlier], how, template)
        for name, (later, earlier) in AGAINST.items()
    }
    rates = {model: _rate(scores, template) for model, scores in models.items()}
    return KindRow(kind, max(_tasks(scores, template) for scores in models.values()), rates, differences)


def _tasks(scores: TaskScores, template: str | None) -> int:
    return sum(template in (None, kind) for kind in scores.templates)


def _rate(scores: TaskScores, template: str | None) -> float | None:
    chosen = [template in (None, kind) for kind in scores.templates]
    return mean_known(pass_at_k(scores.graded_T[chosen], scores.successes_T[chosen], 1))
