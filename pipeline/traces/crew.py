"""Several processes that read traces; their results come in the order of the work, whoever was faster.

Workers keep the text of messages in files below a folder, which is mapped and never copied between processes; memory
stays as it is however large the folder of traces.
"""

import gc
import os
import shutil
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

import pyarrow as pa

from pipeline.traces.chunks import Chunk, Item, chunked
from pipeline.traces.finish import Finish
from pipeline.traces.jobs import Job, read_job

Result = tuple[Job, Iterator[tuple[Chunk, pa.Buffer]]]
"""A job, and its chunks with the text of their messages."""

_WORTH = 64 << 20
"""Bytes from which starting processes pays."""

_FINISH: list[Finish] = []  # of this worker: sent once, not with every job


def results(work: list[Job], finish: Finish, workers: int, folder: Path) -> Iterator[Result]:
    """Do the jobs in `workers` processes (0: as many as there are cores); `folder` is for files of theirs."""
    workers = min(workers or len(os.sched_getaffinity(0)), len(work))
    if workers < 2 or sum(map(_size, work)) < _WORTH:
        for job in work:
            yield job, _here(job, finish)
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        context = get_context("forkserver")  # what workers import is imported once for all of them
        context.set_forkserver_preload([__name__])
        with ProcessPoolExecutor(workers, context, _begin, (finish,)) as pool:
            yield from _in_order(pool, work, folder, 2 * workers)
    finally:
        shutil.rmtree(folder)


def _in_order(pool: ProcessPoolExecutor, work: list[Job], folder: Path, ahead: int) -> Iterator[Result]:
    waiting: deque[tuple[Job, Path, Future[list[Chunk]]]] = deque()
    numbers = count()
    try:
        for job in work:
            path = folder / str(next(numbers))
            waiting.append((job, path, pool.submit(_work, job, path)))
            if len(waiting) > ahead:
                yield _received(*waiting.popleft())
        while waiting:
            yield _received(*waiting.popleft())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _received(job: Job, path: Path, future: "Future[list[Chunk]]") -> Result:
    return job, _kept(future.result(), path)


def _kept(chunks: list[Chunk], path: Path) -> Iterator[tuple[Chunk, pa.Buffer]]:
    start = 0
    with pa.memory_map(str(path)) as kept:
        path.unlink()
        for chunk in chunks:
            size = sum(chunk.sizes)
            yield chunk, kept.read_buffer(size)
            start += size


def _here(job: Job, finish: Finish) -> Iterator[tuple[Chunk, pa.Buffer]]:
    for chunk in chunked(_items(job, finish), finish):
        yield chunk, pa.py_buffer(chunk.messages)


def _items(job: Job, finish: Finish) -> Iterator[Item]:
    return read_job(job, finish.params.max_line_mb << 20, quick=not finish.reads_messages)


def _begin(finish: Finish) -> None:
    """What a worker does first. Records make no cycles, and collecting garbage costs a tenth of the time."""
    Thread(target=_end_with_parent, daemon=True).start()
    gc.disable()
    _FINISH.append(finish)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(job: Job, path: Path) -> list[Chunk]:
    finish = _FINISH[0]
    found: list[Chunk] = []
    with path.open("wb") as stream:
        for chunk in chunked(_items(job, finish), finish):
            stream.write(chunk.messages)
            found.append(chunk._replace(messages=bytearray()))
    gc.collect()
    return found


def _size(job: Job) -> int:
    if job.span is not None:
        return job.span.stop - job.span.start
    # os.path.exists is False, and Path.exists raises, where the folder may not be entered.
    return sum(path.lstat().st_size for _, path in job.unit.files if os.path.exists(path))
