"""Writes the tasks of a taskset of `verifiers` into the file that tasks are read from, to be looked at and cut."""

from pathlib import Path

from pipeline.env_commands.finding import own_folder
from pipeline.environments.adapters.verifiers import taskset_rows
from pipeline.errors import EmptyOutputError, InputError
from pipeline.tables import dumps, whole_file

_ENDING = ".verifiers.yaml"


def write_tasks(name: str) -> tuple[Path, int]:
    """`NAME.jsonl` beside `NAME.verifiers.yaml`, and how many tasks it holds. `name` is one of params or a path.

    Raises InputError when there is no such taskset or the file exists, EmptyOutputError when it has no task.
    """
    path = Path(name) if name.endswith(_ENDING) else own_folder() / f"{name}{_ENDING}"
    if not path.is_file():
        raise InputError(f"{path}: no such file; only a taskset of verifiers brings tasks that can be written out")
    out = path.with_name(path.name.removesuffix(_ENDING) + ".jsonl")
    if out.exists():
        raise InputError(f"{out}: exists already; remove it to have it written anew")
    lines = [dumps(row) for row in taskset_rows(path)]
    if not lines:
        raise EmptyOutputError(f"{path}: the taskset has no task")
    with whole_file(out, "w") as stream:
        stream.write("".join(f"{line}\n" for line in lines))
    return out, len(lines)
