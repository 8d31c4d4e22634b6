"""Several processes that read traces; their results come in the order of the work, whoever was faster.

The text of messages is never sent between processes: workers write it into memory that they share with their parent,
and what finds no room there into files below a folder. Memory stays as it is however large the folder of traces.
"""

import gc
import os
import shutil
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa

from pipeline.parent import end_with_parent
from pipeline.traces.chunks import Chunk, Item, chunked
from pipeline.traces.finish import Finish
from pipeline.traces.jobs import Job, read_job
from pipeline.traces.slots import Slots

Result = tuple[Job, Iterator[tuple[Chunk, pa.Buffer]]]
"""A job, and its chunks with the text of their messages."""

_WORTH = 16 << 20
"""Bytes from which starting processes pays."""
_SPARE = 8
"""Slots beyond those of jobs under way: the row group that is being filled and the one before still refer to some."""


@dataclass(frozen=True, slots=True)
class _Task:
    """One job of a worker."""

    job: Job
    slot: int | None
    path: Path
    """For the text that finds no room in the slot."""


_HERE: list[tuple[Finish, Slots]] = []  # of this worker: it has them from its parent


def results(work: list[Job], finish: Finish, workers: int, folder: Path) -> Iterator[Result]:
    """Do the jobs in `workers` processes (0: as many as there are cores); `folder` is for files of theirs."""
    workers = min(workers or len(os.sched_getaffinity(0)), len(work))
    if workers < 2 or sum(map(_size, work)) < _WORTH:
        slots = Slots(_SPARE)
        for job in work:
            yield job, _here(job, finish, slots)
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    slots = Slots(2 * workers + _SPARE)
    try:
        # Forked, because importing all that a worker needs takes as long as reading 200 MB: at this point of a stage no
        # other thread runs that could hold a lock.
        with ProcessPoolExecutor(workers, get_context("fork"), _begin, (finish, slots)) as pool:
            yield from _in_order(pool, work, folder, slots, 2 * workers)
    finally:
        shutil.rmtree(folder)


def _in_order(pool: ProcessPoolExecutor, work: list[Job], folder: Path, slots: Slots, ahead: int) -> Iterator[Result]:
    waiting: deque[tuple[_Task, Future[list[Chunk]]]] = deque()
    numbers = count()
    try:
        for job in work:
            task = _Task(job, None if job.span is None else slots.take(), folder / str(next(numbers)))
            waiting.append((task, pool.submit(_work, task)))
            if len(waiting) > ahead:
                yield _received(*waiting.popleft(), slots)
        while waiting:
            yield _received(*waiting.popleft(), slots)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _received(task: _Task, future: "Future[list[Chunk]]", slots: Slots) -> Result:
    return task.job, _kept(future.result(), task.path, slots.buffer(task.slot))


def _kept(chunks: list[Chunk], path: Path, shared: pa.Buffer) -> Iterator[tuple[Chunk, pa.Buffer]]:
    start = 0
    with pa.memory_map(str(path)) as rest:
        path.unlink()
        for chunk in chunks:
            size = sum(chunk.sizes)
            if chunk.messages is None:
                yield chunk, shared.slice(start, size)
                start += size
            else:
                yield chunk, rest.read_buffer(size)


def _here(job: Job, finish: Finish, slots: Slots) -> Iterator[tuple[Chunk, pa.Buffer]]:
    slot = None if job.span is None else slots.take()
    shared, start = slots.buffer(slot), 0
    for chunk in chunked(_items(job, finish), finish, slots.room(slot)):
        size = sum(chunk.sizes)
        if chunk.messages is None:
            yield chunk, shared.slice(start, size)
            start += size
        else:
            yield chunk, pa.py_buffer(chunk.messages)


def _items(job: Job, finish: Finish) -> Iterator[Item]:
    return read_job(job, finish.params.max_line_mb << 20, quick=not finish.reads_messages)


def _begin(finish: Finish, slots: Slots) -> None:
    """What a worker does first. Records make no cycles, and collecting garbage costs a tenth of the time."""
    end_with_parent()
    gc.freeze()  # or each collection would visit, and so copy, all that was there before the fork
    gc.disable()
    _HERE.append((finish, slots))


def _work(task: _Task) -> list[Chunk]:
    finish, slots = _HERE[0]
    found: list[Chunk] = []
    with task.path.open("wb") as stream:
        for chunk in chunked(_items(task.job, finish), finish, slots.room(task.slot)):
            if chunk.messages is not None:
                stream.write(chunk.messages)
                chunk = chunk._replace(messages=bytearray())
            found.append(chunk)
    gc.collect()
    return found


def _size(job: Job) -> int:
    if job.span is not None:
        return job.span.stop - job.span.start
    # os.path.exists is False, and Path.exists raises, where the folder may not be entered.
    return sum(path.lstat().st_size for _, path in job.unit.files if os.path.exists(path))
