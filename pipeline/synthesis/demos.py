"""Demonstrations: golden runs of train tasks, by an agent without habits."""

import random
from collections.abc import Iterable, Iterator

from pipeline.environments.worlds import World, Worlds
from pipeline.errors import InputError
from pipeline.graders.reward import outcome, process
from pipeline.harness_hash import harness_hash
from pipeline.records import Demo, Task
from pipeline.synthesis.given import given_demo
from pipeline.synthesis.scripted import run_scripted


def demonstrate(worlds: Worlds, tasks: Iterable[Task]) -> Iterator[Demo]:
    """One golden demonstration a task; none of a given task without golden calls.

    Raises InputError when the run of a drawn task is not perfect.
    """
    for task in tasks:
        world = worlds[task.environment]
        demo = _scripted(world, task) if world.tasks is None else given_demo(world, task)
        if demo is not None:
            yield demo


def _scripted(world: World, task: Task) -> Demo:
    messages, grades = run_scripted(world, task, frozenset(), random.Random(task.task_id))
    reached, way = outcome(grades), process(grades)
    if reached != 1.0 or way != 1.0:
        raise InputError(f"task {task.task_id}: the demonstration earns {grades}; its template is broken")
    return Demo(task.task_id, "golden", messages, world.tools, harness_hash(world.tools), reached, way)
