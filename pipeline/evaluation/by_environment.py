"""The same figures, environment by environment: where an agent that practises several became better, and where not."""

from collections.abc import Mapping
from itertools import accumulate, compress, pairwise
from statistics import fmean
from typing import Any

import numpy as np

from pipeline.evaluation.metrics import TaskScores


def environments(*models: TaskScores) -> list[str]:
    """Names of the environments of all tasks, sorted."""
    return sorted({name for scores in models for name in scores.environments})


def only(scores: TaskScores, environment: str) -> TaskScores:
    """The scores of one environment's tasks."""
    mine = [name == environment for name in scores.environments]
    chosen_T = np.array(mine, dtype=bool)
    bounds = pairwise(accumulate(map(len, scores.numbers), initial=0))
    tries = (scores.tries[start:end] for start, end in compress(bounds, mine))
    return TaskScores(
        tuple(compress(scores.task_ids, mine)), tuple(compress(scores.environments, mine)),
        tuple(compress(scores.templates, mine)), scores.tries_T[chosen_T], scores.graded_T[chosen_T],
        scores.successes_T[chosen_T], tuple(compress(scores.numbers, mine)), scores.process_T[chosen_T],
        tuple(one for some in tries for one in some),
    )  # fmt: skip


def null_rate(scores: TaskScores) -> float | None:
    """Share of the tries that have no outcome; None without tries."""
    return 1 - int(scores.graded_T.sum()) / len(scores.tries) if scores.tries else None


def label(environment: str, template: str, several: bool) -> str:
    """What a template is called: two environments may have one of the same name."""
    return f"{environment}: {template}" if several else template


def environment_mean(found: Mapping[str, Mapping[str, Any]]) -> float | None:
    """Mean of pass_at_1 over the environments that have one: each counts the same, however many tasks it has."""
    known = [figures["pass_at_1"] for figures in found.values() if figures["pass_at_1"] is not None]
    return fmean(known) if known else None
