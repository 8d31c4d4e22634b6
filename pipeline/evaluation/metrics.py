"""Did the tries of a task succeed: pass@k and pass^k, per task first, then the mean over tasks.

With n tries of which c succeed, `pass@k = 1 - C(n-c, k) / C(n, k)` is the chance that at least one of k drawn tries
succeeds (Chen et al. 2021, arXiv 2107.03374) and `pass^k = C(c, k) / C(n, k)` that all k do (Yao et al. 2024,
tau-bench, arXiv 2406.12045), both unbiased. A rollout without an outcome is taken out of n: it is neither success nor
failure. A task with fewer than k graded tries has no pass@k; one with none is missing. Both are counted.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import InputError
from pipeline.evaluation.by_grade import Graded, graded
from pipeline.graders.reward import outcome, process, success
from pipeline.rows import Row, grades_from_json

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COLUMNS = ("task_id", "environment", "template", "try_index", "stop_reason", "grades", "turn_count", "token_count")
"""Columns of `records.ROLLOUTS` that `collect` reads."""


@dataclass(frozen=True, slots=True)
class Try:
    """What one rollout came to."""

    environment: str
    template: str
    success: bool | None
    process: float | None
    stop_reason: str
    turns: int
    tokens: int
    grades: tuple[Graded, ...]


@dataclass(frozen=True, slots=True)
class TaskScores:
    """One model's tries of T tasks, sorted by task_id. Arrays are over the T tasks."""

    task_ids: tuple[str, ...]
    environments: tuple[str, ...]
    templates: tuple[str, ...]
    tries_T: Ints
    """Tries made."""
    graded_T: Ints
    """Tries with an outcome: n."""
    successes_T: Ints
    """Successful tries: c."""
    numbers: tuple[tuple[int, ...], ...]
    """Per task the try_index of each of its tries."""
    process_T: Floats
    """Mean process score of the tries that have one; NaN where none has."""
    tries: tuple[Try, ...]
    """Every try, by task and number."""


def collect(rows: Iterable[Row], success_at: float) -> TaskScores:
    """Score the rollouts of one model. The same try twice counts once; with two contents it raises InputError."""
    found: dict[tuple[str, int], Try] = {}
    for row in rows:
        key, one = (row["task_id"], row["try_index"]), _try(row, success_at)
        if found.setdefault(key, one) != one:
            raise InputError(f"task {key[0]}: try {key[1]} appears with two contents; run `evaluate` again")
    numbers: dict[str, list[int]] = {}
    for task, number in sorted(found):
        numbers.setdefault(task, []).append(number)
    groups = [[found[task, number] for number in made] for task, made in numbers.items()]
    return TaskScores(
        tuple(numbers), tuple(group[0].environment for group in groups), tuple(group[0].template for group in groups),
        np.array([len(group) for group in groups], dtype=np.int64),
        np.array([sum(one.success is not None for one in group) for group in groups], dtype=np.int64),
        np.array([sum(one.success is True for one in group) for group in groups], dtype=np.int64),
        tuple(map(tuple, numbers.values())),
        np.array([_mean([one.process for one in group]) for group in groups], dtype=np.float64),
        tuple(one for group in groups for one in group),
    )  # fmt: skip


def pass_at_k(n_T: Ints, c_T: Ints, k: int) -> Floats:
    """Per task the chance that at least one of k tries succeeds; NaN where n < k. `n_T`, `c_T`: tries, successes."""
    return 1.0 - _all_drawn(n_T, n_T - c_T, k)


def pass_hat_k(n_T: Ints, c_T: Ints, k: int) -> Floats:
    """Per task the chance that all of k tries succeed; NaN where n < k. `n_T`, `c_T`: tries, successes."""
    return _all_drawn(n_T, c_T, k)


def mean_known(values_T: Floats) -> float | None:
    """Mean over the tasks that have a value; None when none has."""
    known = values_T[~np.isnan(values_T)]
    return float(known.mean()) if known.size else None


def _all_drawn(n_T: Ints, marked_T: Ints, k: int) -> Floats:
    """C(marked, k) / C(n, k) as a product of k ratios, which neither overflows nor needs factorials."""
    steps_k = np.arange(k)
    above_Tk = np.maximum(marked_T[:, None] - steps_k, 0)
    below_Tk = np.maximum(n_T[:, None] - steps_k, 1)
    chance_T: Floats = np.prod(above_Tk / below_Tk, axis=1)
    return np.where(n_T >= k, chance_T, np.nan)


def _try(row: Row, success_at: float) -> Try:
    grades = grades_from_json(row["grades"])
    reached, way = outcome(grades), process(grades)
    known = reached is not None and isfinite(reached)
    return Try(
        row["environment"], row["template"], success(grades, success_at) if known else None,
        way if way is not None and isfinite(way) else None, row["stop_reason"], row["turn_count"], row["token_count"],
        graded(grades),
    )  # fmt: skip


def _mean(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else float("nan")
