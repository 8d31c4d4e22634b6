"""Many tasks at once: worlds take turns, chunks of drawn tasks go to worker processes, results come back in order.

What a chunk holds depends on its number alone, so one worker and ten make the same bytes.
"""

import os
from collections import Counter
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count, islice
from multiprocessing import get_context

from pipeline.environments.worlds import World, load_worlds
from pipeline.errors import SpecError
from pipeline.params import EnvironmentsParams
from pipeline.parent import end_with_parent
from pipeline.records import Split, Task
from pipeline.rows import Row, task_to_row
from pipeline.synthesis.given import given_tasks
from pipeline.synthesis.questions import Noise
from pipeline.synthesis.tasks import Rejected, make_task

CHUNK = 64
"""Tasks drawn by one call of a worker."""
_MANY = 4096
"""Below this many tasks, starting workers costs more than it saves."""
_PATIENCE = 50
"""How many tasks may be drawn for each one that is new before a world counts as exhausted."""

Drawn = list[Row | Rejected]


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be made: `sizes` tasks of each world for one split, drawn with `seed`."""

    environments: EnvironmentsParams
    split: Split
    sizes: dict[str, int]
    seed: int
    noise: Noise


@dataclass(slots=True)
class Tally:
    """What came of the drawing, by environment: tasks by template, and those rejected by reason."""

    templates: dict[str, Counter[str]] = field(default_factory=dict)
    rejected: dict[str, Counter[str]] = field(default_factory=dict)


def shares(names: tuple[str, ...], total: int) -> dict[str, int]:
    """`total` divided among `names` as evenly as can be, the first ones taking what is left over."""
    return {name: total // len(names) + (place < total % len(names)) for place, name in enumerate(names)}


def make_rows(order: Order, tally: Tally, workers: int | None = None) -> Iterator[Row]:
    """Rows of `records.TASKS`, worlds by turns; counts them in `tally`. `workers` None means one a processor.

    A world whose tasks are given in a file yields those of the split, at most as many as ordered. Raises SpecError when
    a declared world has too few different tasks, InputError for a bad file.
    """
    worlds = load_worlds(order.environments)
    streams = {
        name: _given(order, worlds[name], tally)
        if worlds[name].tasks is not None
        else _unique(order, name, tally, _chunks(order, worlds[name], workers))
        for name, size in order.sizes.items()
        if size
    }
    try:
        while streams:
            for name in list(streams):
                row = next(streams[name], None)
                if row is None:
                    del streams[name]
                else:
                    yield row
    finally:
        for stream in streams.values():
            stream.close()


def draw_chunk(
    environments: EnvironmentsParams, name: str, seed: int, split: Split, number: int, noise: Noise
) -> Drawn:
    """Draw the tasks of one chunk of a world, good ones as rows."""
    world = load_worlds(environments.model_copy(update={"names": (name,)}))[name]
    return [_draw(world, seed, split, index, noise) for index in range(number * CHUNK, (number + 1) * CHUNK)]


def _draw(world: World, seed: int, split: Split, index: int, noise: Noise) -> Row | Rejected:
    drawn = make_task(world, seed, split, index, noise)
    return task_to_row(drawn) if isinstance(drawn, Task) else drawn


def _given(order: Order, world: World, tally: Tally) -> Generator[Row, None, None]:
    templates, size = tally.templates.setdefault(world.name, Counter()), order.sizes[world.name]
    tasks = given_tasks(world, order.seed, (order.split,))[order.split]
    if len(tasks) > size:
        tally.rejected[world.name] = Counter({Rejected.LEFT_OVER.value: len(tasks) - size})
    for task in tasks[:size]:
        templates[task.template] += 1
        yield task_to_row(task)


def _unique(order: Order, name: str, tally: Tally, chunks: Generator[Drawn, None, None]) -> Generator[Row, None, None]:
    templates = tally.templates.setdefault(name, Counter())
    rejected = tally.rejected.setdefault(name, Counter())
    seen: set[str] = set()
    tried = 0
    with closing(chunks):
        for each in (each for chunk in chunks for each in chunk):
            tried += 1
            if isinstance(each, Rejected):
                rejected[each.value] += 1
            elif each["task_id"] in seen:
                rejected[Rejected.DUPLICATE.value] += 1
            else:
                seen.add(each["task_id"])
                templates[each["template"]] += 1
                yield each
            if len(seen) == order.sizes[name]:
                return
            if tried > 1000 + _PATIENCE * len(seen):
                raise SpecError(
                    f"environment {name!r}: of {tried} drawn {order.split} tasks only {len(seen)} are new and worth "
                    f"doing ({dict(rejected)}); draw more freely, or ask for fewer"
                )


def _chunks(order: Order, world: World, workers: int | None) -> Generator[Drawn, None, None]:
    """What is drawn, in order and without end: by the chunk where workers draw it, else one by one."""
    workers = len(os.sched_getaffinity(0)) if workers is None else workers
    if workers == 1 or order.sizes[world.name] < _MANY:
        yield from ([_draw(world, order.seed, order.split, index, order.noise)] for index in count())
        return
    arguments = ((order.environments, world.name, order.seed, order.split, number, order.noise) for number in count())
    with ProcessPoolExecutor(workers, get_context("spawn"), end_with_parent) as pool:
        waiting: list[Future[Drawn]] = [pool.submit(draw_chunk, *each) for each in islice(arguments, 2 * workers)]
        try:
            while True:
                waiting.append(pool.submit(draw_chunk, *next(arguments)))
                yield waiting.pop(0).result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
