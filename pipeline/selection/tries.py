"""What a rollout earned, by the typed grade columns of `records.ROLLOUTS`.

The same rules as `pipeline.graders.reward`, column by column. `grade_names` is the same text for all rollouts that were
graded alike, so there are only a few of them, and each is a shape with its own arithmetic. A number that could not be
had is NaN: it spoils what it takes part in, as null does, and numpy knows it.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.grader_params import RewardParams

GRADE_COLUMNS = ("grade_names", "grade_scores", "grade_passed")
SCORED = "scored."
"""Begins the column, one for each grade, that says of a try whether some try of its task has a score of that name."""

Numbers = NDArray[np.float64]
Tries = Mapping[str, Numbers]
"""Columns `score.PLACE` and `passed.PLACE` (1 or 0) of some tries, see `by_place`."""


def by_place(width: int, passes: bool) -> list[pl.Expr]:
    """Columns of the first `width` grades of each rollout; the passes only where asked for. See `Tries`."""
    found = []
    for place in range(width):
        score = pl.col("grade_scores").list.get(place, null_on_oob=True)
        found.append(_or_nan(score.is_finite(), score).alias(f"score.{place}"))
        if passes:
            own = pl.col("grade_passed").list.get(place, null_on_oob=True)
            passed = pl.coalesce(own, score >= 1.0).cast(pl.Float64)
            found.append(_or_nan(score.is_finite(), passed).alias(f"passed.{place}"))
    return found


@dataclass(frozen=True, slots=True)
class Shape:
    """Which grades some of the rollouts of an environment have: name, kind and whether it is held out, in order."""

    environment: str
    text: str
    grades: tuple[tuple[str, str, bool], ...]

    def score(self, tries: Tries, name: str) -> Numbers | None:
        """Scores of the first grade of that name; None when there is no such grade. See `graders.reward.score`."""
        place = self._place(name)
        return None if place is None else tries[f"score.{place}"]

    def usable(self) -> set[str]:
        """Names that a reward may hang on."""
        return {name for name, _, held_out in self.grades if not held_out}

    def process(self, tries: Tries) -> Numbers | None:
        """Plain mean of the process grades, see `graders.reward.process`."""
        counted = [place for place, (_, kind, held_out) in enumerate(self.grades) if kind == "process" and not held_out]
        return _sum([tries[f"score.{place}"] for place in counted]) / len(counted) if counted else None

    def reward(self, tries: Tries, rule: RewardParams) -> Numbers | None:
        """The reward by `rule.combine`, see `graders.reward.reward`."""
        mean = self._weighted(tries, rule)
        if mean is None or rule.combine == "weighted":
            return mean
        names = rule.required if rule.combine == "hybrid" else [name for name, weight in rule.weights.items() if weight]
        places = [place for name in names if (place := self._place(name)) is not None]
        verdicts = np.array([np.ones_like(mean), *(tries[f"passed.{place}"] for place in places)])
        whole = mean if rule.combine == "hybrid" else 1.0
        reward = np.where((verdicts == 1.0).all(axis=0), whole, 0.0)
        return np.where(np.isnan(mean) | np.isnan(verdicts).any(axis=0), np.nan, reward)

    def _weighted(self, tries: Tries, rule: RewardParams) -> Numbers | None:
        terms, share = [], 0.0
        for name in sorted(rule.weights):
            if (known := self.score(tries, name)) is not None:
                terms.append(rule.weights[name] * known)
                share += rule.weights[name]
        return _sum(terms) / share if share > 0 else None

    def _place(self, name: str) -> int | None:
        return next((place for place, (known, _, _) in enumerate(self.grades) if known == name), None)


def shapes_of(tries: pl.DataFrame) -> set[Shape]:
    """Every way in which some tries of an environment were graded."""
    worlds, texts = distinct(tries["environment"]), distinct(tries["grade_names"])
    pairs = [(world, text) for world in worlds for text in texts]
    if min(len(worlds), len(texts)) > 1:
        pairs = tries.select("environment", "grade_names").unique().rows()
    return {Shape(world, text, tuple(map(tuple, json.loads(text)))) for world, text in pairs}


def most_grades(shapes: Collection[Shape]) -> int:
    """The most that one of them has."""
    return max([0, *(len(shape.grades) for shape in shapes)])


def distinct(column: pl.Series) -> list[str]:
    """The values of a column of texts, in no order. Most often there is one, which takes less time to see."""
    if column.len() and (column == column[0]).all():
        return [column[0]]
    return column.unique().to_list()


def earned(tries: pl.DataFrame, shapes: Collection[Shape], rule: RewardParams) -> dict[str, Numbers]:
    """What `tries` earned: reward, process, and `grade.NAME` for each grade that a shape has.

    A try that lacks a grade NAME has no reward where column `SCORED + NAME` says that another try of its task has it.
    """
    columns = {name: tries[name].to_numpy() for name in tries.columns if name.startswith(("score.", "passed."))}
    of_each = _Columns(tries["grade_names"], {shape.text: shape for shape in shapes})
    found = {
        "reward": of_each(lambda shape: shape.reward(columns, rule)),
        "process": of_each(lambda shape: shape.process(columns)),
    } | {f"grade.{name}": of_each(partial(Shape.score, tries=columns, name=name)) for name in grade_names(shapes)}
    for name in rule.names():
        if SCORED + name in tries.columns:
            lacks = of_each(partial(_lacks, name, tries.height)) == 1.0
            found["reward"] = np.where(lacks & tries[SCORED + name].to_numpy(), np.nan, found["reward"])
    return found


def unevenly_graded(shapes: Collection[Shape], rule: RewardParams) -> list[str]:
    """Grades that the reward hangs on and that only some tries of an environment have, see `graders.reward.rewards`."""
    worlds = {shape.environment for shape in shapes}
    having = {
        name: [{name in shape.usable() for shape in shapes if shape.environment == world} for world in worlds]
        for name in rule.names()
    }
    return [name for name, kinds in having.items() if any(len(kind) > 1 for kind in kinds)]


def grade_names(shapes: Collection[Shape]) -> list[str]:
    """Names of all grades, sorted."""
    return sorted({name for shape in shapes for name, _, _ in shape.grades})


@dataclass(frozen=True, slots=True)
class _Columns:
    """Makes a column of what each try's own shape gives; NaN where it gives none."""

    texts: pl.Series
    shapes: Mapping[str, Shape]

    def __call__(self, value: Callable[[Shape], Numbers | None]) -> Numbers:
        found = np.full(len(self.texts), np.nan)
        for text, shape in self.shapes.items():
            one = value(shape)
            if one is not None and len(self.shapes) == 1:
                return one
            if one is not None:
                np.copyto(found, one, where=(self.texts == text).to_numpy())
        return found


def _lacks(name: str, height: int, shape: Shape) -> Numbers:
    return np.full(height, float(name not in shape.usable()))


def _or_nan(known: pl.Expr, value: pl.Expr) -> pl.Expr:
    return pl.when(known).then(value).otherwise(float("nan"))


def _sum(terms: Sequence[Numbers]) -> Numbers:
    """From left to right, as `sum` does: equal grades give equal bits here and in `graders.reward`."""
    return sum(terms, np.zeros(1))
