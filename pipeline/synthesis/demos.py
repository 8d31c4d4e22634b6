"""Demonstrations of train tasks: golden runs, and runs by an agent with the habits that params choose."""

import difflib
import random
from collections.abc import Collection, Iterable, Iterator, Mapping

from pipeline.environments.worlds import World, Worlds
from pipeline.errors import InputError, ParamsError
from pipeline.graders.reward import outcome, process
from pipeline.harness_hash import harness_hash
from pipeline.records import Demo, Task
from pipeline.synthesis.given import given_demo
from pipeline.synthesis.scripted import run_scripted
from pipeline.synthesis.tasks import compiled_of, is_declared

GOLDEN, HABITS = "golden", "habits"
"""Authors of demonstrations: an agent without habits, one with some."""


def demonstrate(worlds: Worlds, tasks: Iterable[Task], habits: Mapping[str, float] | None = None) -> Iterator[Demo]:
    """One demonstration a task; none of a given task without golden calls.

    `habits` are shares of the demonstrations by the name of a habit: whose environment has it shows it that often, each
    apart from the others. Raises InputError when the run of a drawn task without any is not perfect.
    """
    for task in tasks:
        world = worlds[task.environment]
        demo = _scripted(world, task, habits or {}) if world.tasks is None else given_demo(world, task)
        if demo is not None:
            yield demo


def check_habits(worlds: Worlds, names: Collection[str]) -> None:
    """Raises ParamsError for a habit that no declared environment has."""
    known = list(
        dict.fromkeys(name for world in worlds.values() if is_declared(world) for name in compiled_of(world).habits)
    )
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known) or 'none'}"
            raise ParamsError(f"params.yaml: synthesize.habits: no environment has a habit {name!r}; {hint}")


def _scripted(world: World, task: Task, shares: Mapping[str, float]) -> Demo:
    drawn = frozenset(
        name for name, share in shares.items()
        if random.Random(f"habit-{name}-{task.task_id}").random() < share and name in compiled_of(world).habits
    )  # fmt: skip
    messages, grades = run_scripted(world, task, drawn, random.Random(task.task_id))
    reached, way = outcome(grades), process(grades)
    if not drawn and (reached != 1.0 or way != 1.0):
        raise InputError(f"task {task.task_id}: the demonstration earns {grades}; its template is broken")
    author = HABITS if drawn else GOLDEN
    return Demo(task.task_id, author, messages, world.tools, harness_hash(world.tools), reached or 0.0, way)
