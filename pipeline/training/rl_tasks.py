"""The tasks that reinforcement learning and its rival practise on, and those they are chosen by."""

from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import InputError
from pipeline.records import RL_TASKS, TASKS, Task
from pipeline.rows import task_from_row
from pipeline.tables import read_parquet


@dataclass(frozen=True, slots=True)
class RlTask:
    """A task to practise, with what its profile measured: the pass rate over `valid` tries."""

    task: Task
    pass_rate: float
    valid: int


def read_tasks(path: Path) -> list[RlTask]:
    """The tasks to practise. Raises InputError when there are none."""
    found = [RlTask(task_from_row(row), row["pass_rate"], row["valid"]) for row in read_parquet(path, RL_TASKS)]
    if not found:
        raise InputError(f"{path}: holds no tasks; widen `filter` in params.yaml and run `filter` again")
    return found


def read_valid(path: Path) -> list[Task]:
    """The valid tasks. Raises InputError when there are none."""
    found = [task_from_row(row) for row in read_parquet(path, TASKS)]
    if not found:
        raise InputError(f"{path}: holds no tasks; raise synthesize.valid and run `synthesize` again")
    return found
