"""Sums of whole numbers by task, in memory that grows with the tasks, not with their tries.

polars' own grouping holds the rows that it cannot merge at once, so tries of a task that lie far apart in a file cost
several times the file. Here rows come in batches; those of a task that follow one another, as `profile` writes them,
are added up first, and the few sums that are left go to the totals, wherever their task was before.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

Whole = NDArray[np.int64] | NDArray[np.bool_]


class Totals:
    """The sums so far. `place` says to which tasks the rows of a batch belong, then `add` takes columns of that batch.

    A sum that does not fit 64 bits wraps around.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        # A task's place is the number that polars gives it among categories of our own. They live as long as a series
        # of them does, and would begin at 0 again in each batch without this one.
        self._categories = pl.Series(dtype=pl.Categorical(pl.Categories.random()))
        self._height = 0
        self._sums: dict[str, NDArray[np.int64]] = {}
        self._kept = ("task_id", *texts)
        self._tasks = [pl.DataFrame(schema=dict.fromkeys(self._kept, pl.String) | {"place": pl.Int64})]
        self._starts = self._at = np.zeros(0, np.int64)

    def place(self, rows: pl.DataFrame) -> None:
        """Take `rows`, at least one, with columns `task_id` and the texts, of which one of each task are kept."""
        runs = rows.select(pl.col("task_id").rle()).unnest("task_id")
        lengths = runs["len"].to_numpy().astype(np.int64)
        self._starts = np.cumsum(lengths) - lengths
        self._at = runs["value"].cast(self._categories.dtype).to_physical().to_numpy().astype(np.int64)
        self._height = max(self._height, int(self._at.max()) + 1)
        self._keep(rows)
        np.add.at(self._room("tries"), self._at, lengths)

    def add(self, name: str, values: Whole) -> None:
        """Add a value for each row of the batch to the sums called `name`."""
        np.add.at(self._room(name), self._at, np.add.reduceat(values.astype(np.int64, copy=False), self._starts))

    def table(self, names: Sequence[str]) -> pl.DataFrame:
        """One row a task, sorted: `task_id`, texts, `tries` (its rows) and the sums `names`, 0 without any added."""
        tasks = pl.concat(self._tasks).sort("task_id")
        places = tasks["place"].to_numpy()
        return tasks.drop("place").with_columns(
            pl.Series(name, self._room(name)[places], pl.Int64) for name in ("tries", *names)
        )

    def _keep(self, rows: pl.DataFrame) -> None:
        new = self._room("tries")[self._at] == 0
        if new.any():
            places, first = np.unique(self._at[new], return_index=True)
            found = rows.select(self._kept)[self._starts[new][first]]
            self._tasks.append(found.with_columns(pl.Series("place", places)))

    def _room(self, name: str) -> NDArray[np.int64]:
        """The sums of that name, with a 0 for each place that had nothing to add yet."""
        sums = self._sums.setdefault(name, np.zeros(0, np.int64))
        if (lacking := self._height - len(sums)) > 0:
            sums = self._sums[name] = np.pad(sums, (0, max(lacking, len(sums) // 2)))
        return sums
