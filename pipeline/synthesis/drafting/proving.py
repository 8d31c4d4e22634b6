"""Is a draft any good? It is read, tasks of every template are drawn, and their golden runs are executed.

Nothing of a draft is run as code: it is data for the reader of specs, whose expressions can do nothing but compute.
"""

import random
from collections import Counter
from dataclasses import dataclass

from pipeline.environments.declared.environment import make_class
from pipeline.environments.declared.load import parse_spec
from pipeline.environments.worlds import World, make_world
from pipeline.errors import RehearsalError, SpecError
from pipeline.records import Task
from pipeline.synthesis.tasks import Rejected, compiled_of, task_from, template_names

DRAWS = 10
"""Tasks drawn of each template."""
MAX_TEMPLATES = 100
"""More than these would take long to draw, and nobody could review them."""
_FEW = 5
"""Fewer different tasks than these among `DRAWS` are worth a remark."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What held for a draft, and what a person should look at, one sentence each."""

    passed: tuple[str, ...]
    remarks: tuple[str, ...]
    world: World


def prove(text: str, name: str) -> Proof:
    """Read, draw and play a draft that is to be called `name`. Raises SpecError with the first fault."""
    world = _world(text, name)
    tasks, remarks = 0, list[str]()
    templates = template_names(compiled_of(world))
    if len(templates) > MAX_TEMPLATES:
        raise SpecError(f"{len(templates)} templates, cases counted; a draft has at most {MAX_TEMPLATES}")
    for template in templates:
        drawn = [_drawn(world, template, index) for index in range(DRAWS)]
        good = [task for task in drawn if isinstance(task, Task)]
        rejected = Counter(reason for reason in drawn if isinstance(reason, Rejected))
        if not good:
            raise SpecError(f"template {template}: all {DRAWS} drawn tasks are rejected as {_listed(rejected)}; draw "
                            "and ask otherwise, and let the deciding tools change the state")  # fmt: skip
        if rejected:
            remarks.append(f"template {template}: of {DRAWS} drawn tasks {_listed(rejected)} were rejected")
        if len({task.task_id for task in good}) < min(_FEW, len(good)):
            remarks.append(f"template {template}: {len(good)} drawn tasks are nearly all the same; draw more freely")
        tasks += len(good)
    passed = (
        f"read as a spec: {len(world.tools)} tools, {len(templates)} templates",
        f"{tasks} tasks drawn, {DRAWS} tries a template",
        f"{tasks} golden runs executed, each with outcome 1 and process 1",
    )
    return Proof(passed, tuple(remarks), world)


def _world(text: str, name: str) -> World:
    try:
        compiled = parse_spec(text, "draft")
        world = make_world(name, make_class(compiled))
    except RecursionError as error:
        raise SpecError("the draft refers to itself without end") from error
    except SpecError:
        raise
    except RehearsalError as error:
        raise SpecError(str(error)) from error
    if compiled.spec.name != name:
        raise SpecError(f"draft: name: is {compiled.spec.name!r}; call it {name!r}")
    return world


def _drawn(world: World, template: str, index: int) -> Task | Rejected:
    rng = random.Random(f"draft-{template}-{index}")
    try:
        return task_from(world, rng, template, "train", 0)
    except SpecError:
        raise
    except RecursionError as error:
        raise SpecError(f"template {template}: its rows create each other without end") from error
    except KeyError as error:
        raise SpecError(f"template {template}: an expression asks for a row that does not exist: {error}") from error
    except RehearsalError as error:
        raise SpecError(f"template {template}: {error}") from error


def _listed(rejected: Counter[Rejected]) -> str:
    return ", ".join(f"{count} {reason.value}" for reason, count in sorted(rejected.items()))
