"""Demonstrations: golden runs of train tasks, by a clerk without habits."""

import random
from collections.abc import Iterable, Iterator

from pipeline.environments import ENVIRONMENTS
from pipeline.environments.tools import tool_schemas
from pipeline.errors import InputError
from pipeline.graders.reward import outcome, process
from pipeline.harness_hash import harness_hash
from pipeline.records import Demo, Task
from pipeline.synthesis.scripted import run_scripted


def demonstrate(tasks: Iterable[Task]) -> Iterator[Demo]:
    """One golden demonstration a task. Raises InputError when a run is not perfect."""
    for task in tasks:
        messages, grades = run_scripted(task, frozenset(), random.Random(task.task_id))
        reached, way = outcome(grades), process(grades)
        if reached != 1.0 or way != 1.0:
            raise InputError(f"task {task.task_id}: the demonstration earns {grades}; its template is broken")
        tools = tool_schemas(ENVIRONMENTS[task.environment])
        yield Demo(task.task_id, "golden", messages, tools, harness_hash(tools), reached, way)
