"""What each try adds to the sums of its group, batch by batch.

Every batch is graded by the shapes that it holds itself, and a sum begins at zero when something is first added to it:
so one look at the rollouts is enough, and none at what kinds of them there are.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.grader_params import RewardParams
from pipeline.graders.reward import OUTCOME
from pipeline.records import StopReason
from pipeline.selection.exact import Scale, parts
from pipeline.selection.totals import Totals
from pipeline.selection.tries import SCORED, Shape, by_place, distinct, earned, grade_names, most_grades, shapes_of

TEXTS = ("environment", "template")
"""Columns that all tries of a task have in common: its id is the hash of these, too."""
BATCH = 65_536
"""Rows looked at together."""
_READ = ("task_id", *TEXTS, "try_index", "model", "stop_reason", "turn_count", "token_count", "grade_names")
_SUMS, _SQUARES = ("n", "sum"), ("high", "cross", "low")


@dataclass(frozen=True, slots=True)
class Sums:
    """What was found: a row of sums for each group, by task_id, and what there was in all."""

    groups: pl.DataFrame
    """task_id, TEXTS, tries; sums of turn_count, token_count, success, numbers, model and model.squares, stop.REASON;
    and `exact.parts` of reward, process and each grade.NAME."""
    shapes: tuple[Shape, ...]
    models: int
    largest: float
    """The largest magnitude of a score."""


def add_up(rollouts: pl.LazyFrame, rule: RewardParams, scale: Scale) -> Sums:
    """The sums of all groups, in units of `scale`."""
    head = rollouts.select("environment", "grade_names").head(BATCH).collect()
    adder = _Adder(rule, scale, most_grades(shapes_of(head)))
    adder.add_all(rollouts)
    if (most := most_grades(adder.shapes)) > adder.width:
        adder = _Adder(rule, scale, most)
        adder.add_all(rollouts)
    return adder.sums()


class _Adder:
    def __init__(self, rule: RewardParams, scale: Scale, width: int) -> None:
        self.shapes, self.width = set[Shape](), width
        self._rule, self._scale = rule, scale
        self._totals, self._largest = Totals(TEXTS), 0.0
        self._stops: set[str] = set()
        self._models: defaultdict[str, int] = defaultdict()
        self._models.default_factory = self._models.__len__

    def add_all(self, rollouts: pl.LazyFrame) -> None:
        """Unless a rollout has more than `width` grades, which only `shapes` tells then."""
        scored = [name for name in rollouts.collect_schema().names() if name.startswith(SCORED)]
        rows = rollouts.select(*_READ, *scored, *by_place(self.width, self._rule.combine != "weighted"))
        for batch in rows.collect_batches(chunk_size=BATCH, maintain_order=False, engine="streaming"):
            shapes = shapes_of(batch)
            self.shapes |= shapes
            if batch.height and most_grades(shapes) <= self.width:
                self.add(batch, shapes)

    def add(self, batch: pl.DataFrame, shapes: set[Shape]) -> None:
        self._totals.place(batch)
        self._add_counts(batch)
        self._add_stops(batch["stop_reason"])
        self._add_models(batch["model"])
        for name, values in earned(batch, shapes, self._rule).items():
            self._add_values(name, values)

    def sums(self) -> Sums:
        names = {*grade_names(self.shapes), OUTCOME}
        squared = ["reward", *(f"grade.{name}" for name in sorted(names))]
        columns = [
            "turn_count", "token_count", "success", "numbers", "model", "model.squares",
            *(f"stop.{reason.value}" for reason in StopReason), *(f"process.{part}" for part in _SUMS),
            *(f"{name}.{part}" for name in squared for part in (*_SUMS, *_SQUARES)),
        ]  # fmt: skip
        shapes = tuple(sorted(self.shapes, key=lambda shape: (shape.environment, shape.text)))
        return Sums(self._totals.table(columns), shapes, len(self._models), self._largest)

    def _add_counts(self, batch: pl.DataFrame) -> None:
        for name in ("turn_count", "token_count"):
            self._totals.add(name, batch[name].fill_null(0).to_numpy())
        self._totals.add("numbers", _numbers_as_bits(batch["try_index"].to_numpy()))

    def _add_stops(self, stops: pl.Series) -> None:
        """Comparing with the reasons seen so far takes less time than looking which ones there are."""
        each = {reason: stops == reason for reason in self._stops}
        if sum(int(here.sum()) for here in each.values()) < len(stops):
            self._stops.update(distinct(stops))
            each = {reason: stops == reason for reason in self._stops}
        for reason, here in each.items():
            self._totals.add(f"stop.{reason}", here.to_numpy())

    def _add_models(self, models: pl.Series) -> None:
        """A group has one model where the numbers of its models do not vary."""
        numbers = {model: self._models[model] for model in distinct(models)}
        if len(self._models) > 1:
            each = models.replace_strict(numbers, return_dtype=pl.Int64).to_numpy()
            self._totals.add("model", each)
            self._totals.add("model.squares", each * each)

    def _add_values(self, name: str, values: NDArray[np.float64]) -> None:
        for part, whole in parts(values, self._scale, squares=name != "process"):
            self._totals.add(f"{name}.{part}", whole)
        if name == f"grade.{OUTCOME}":
            self._totals.add("success", values >= self._rule.success_at)
        if name != "reward":  # no mean of grades is larger than they are
            self._largest = max(self._largest, float(np.fmax.reduce(np.abs(values), initial=0.0)))


def _numbers_as_bits(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """One of 63 bits for each try. Powers of two add up to as many bits as they are only where none stands twice.

    Numbers beyond share the last one: such groups are looked at again, which costs time only.
    """
    return np.left_shift(1, np.clip(numbers, 0, 62), dtype=np.int64)
