"""How surely: bootstrap intervals over tasks, and differences of two models paired by task.

Tries of one task resemble each other, so tasks are what is drawn again, with all their tries (a cluster bootstrap).
A paired difference draws each task for both models at once: how hard the task is cancels out.
"""

from dataclasses import dataclass

import numpy as np

from pipeline.evaluation.metrics import Floats, TaskScores, pass_at_k

_BLOCK = 256
"""Resamples drawn at a time: bounds memory at _BLOCK times the number of tasks; part of what a seed means."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over `tasks` tasks and its interval. All None when no task has a value."""

    mean: float | None
    low: float | None
    high: float | None
    tasks: int


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are made: number of resamples, two-sided confidence, seed."""

    resamples: int
    confidence: float
    seed: int


def bootstrap_mean(values_T: Floats, how: Bootstrap) -> Interval:
    """Percentile interval of the mean over tasks (Efron 1979); tasks without a value (NaN) take no part."""
    known_T = values_T[~np.isnan(values_T)]
    if not known_T.size:
        return Interval(None, None, None, 0)
    draw = np.random.default_rng(how.seed)
    shapes = [(min(_BLOCK, how.resamples - start), known_T.size) for start in range(0, how.resamples, _BLOCK)]
    means_B = np.concatenate([known_T[draw.integers(known_T.size, size=shape)].mean(axis=1) for shape in shapes])
    tail = (1 - how.confidence) / 2
    low, high = np.quantile(means_B, [tail, 1 - tail])
    return Interval(float(known_T.mean()), float(low), float(high), int(known_T.size))


def paired_difference(better: TaskScores, worse: TaskScores, how: Bootstrap, template: str | None = None) -> Interval:
    """pass@1 of `better` minus pass@1 of `worse` over the tasks that both have, of one template or of all."""
    return bootstrap_mean(task_differences(better, worse, template), how)


def task_differences(better: TaskScores, worse: TaskScores, template: str | None = None) -> Floats:
    """Per common task, in order of task_id, the difference of pass@1; NaN where one of the models has no outcome."""
    theirs = dict(zip(worse.task_ids, pass_at_k(worse.graded_T, worse.successes_T, 1), strict=True))
    ours = zip(better.task_ids, better.templates, pass_at_k(better.graded_T, better.successes_T, 1), strict=True)
    wanted = [rate - theirs[task] for task, kind, rate in ours if task in theirs and template in (None, kind)]
    return np.array(wanted, dtype=np.float64)
