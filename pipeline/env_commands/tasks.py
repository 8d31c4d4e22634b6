"""One task to look at or to play."""

import difflib
import random
from collections.abc import Collection

from pipeline.environments.declared import DeclaredEnvironment
from pipeline.environments.worlds import World
from pipeline.errors import InputError, SpecError
from pipeline.records import Task
from pipeline.synthesis.given import given_tasks
from pipeline.synthesis.tasks import compiled_of, task_from, template_names

_TRIES = 100


def task_to_play(world: World, template: str | None, seed: int) -> Task:
    """A task of one template, or of the first: drawn where there is a spec, else one of those given in a file.

    Raises InputError or SpecError when there is no such template, or no task of it.
    """
    if issubclass(world.factory, DeclaredEnvironment):
        return drawn_task(world, template, seed)
    tasks = [task for each in given_tasks(world, seed).values() for task in each]
    if not tasks:
        raise InputError(f"environment {world.name!r}: there is no task to play")
    wanted = _known(world, template, [task.template for task in tasks])
    fitting = [task for task in tasks if task.template == wanted]
    return fitting[seed % len(fitting)]


def drawn_task(world: World, template: str | None, seed: int) -> Task:
    """A task drawn from the world's spec. Raises InputError or SpecError as above."""
    wanted = _known(world, template, template_names(compiled_of(world)))
    for number in range(_TRIES):
        rng = random.Random(f"example-{world.name}-{seed}-{number}")
        drawn = task_from(world, rng, wanted, "train", seed)
        if isinstance(drawn, Task):
            return drawn
    raise SpecError(f"environment {world.name!r}, template {wanted}: of {_TRIES} drawn tasks none is worth doing")


def _known(world: World, template: str | None, names: Collection[str]) -> str:
    known = list(dict.fromkeys(names))
    if template is None or template in known:
        return known[0] if template is None else template
    close = difflib.get_close_matches(template, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
    raise InputError(f"environment {world.name!r} has no template {template!r}; {hint}")
