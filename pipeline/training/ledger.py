"""Every rollout that RL made, trained on or not, with its reward, its advantage and the reason.

One part file a generation step, written when the step has been played. A step that is played again after a kill
gives the same bytes, so parts simply replace each other.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.records import LEDGER
from pipeline.rows import Row, rollout_to_row
from pipeline.tables import read_parquet, write_parquet
from pipeline.training.collect import Reason, Tried


def ledger_row(tried: Tried, step: int) -> Row:
    """A row of `records.LEDGER`. `step` counts generation steps from 1."""
    return rollout_to_row(tried.rollout) | {
        "step": step, "round": tried.round, "reward": tried.reward, "advantage": tried.advantage,
        "trained": tried.reason is Reason.TRAINED, "reason": tried.reason.value,
    }  # fmt: skip


def write_part(folder: Path, step: int, tried: Sequence[Tried]) -> None:
    """Write the part of generation step `step`."""
    write_parquet(part_path(folder, step), (ledger_row(one, step) for one in tried), LEDGER)


def read_parts(folder: Path, steps: int, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """All rows of steps 1 to `steps`, in order. Raises InputError when a part is missing."""
    for step in range(1, steps + 1):
        yield from read_parquet(part_path(folder, step), LEDGER, columns)


def part_path(folder: Path, step: int) -> Path:
    """Where the part of a step lies."""
    return folder / f"{step:06d}.parquet"
