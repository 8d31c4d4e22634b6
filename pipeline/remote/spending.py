"""Many questions at once under one budget, with results that do not depend on which came back first.

Work is begun in order and settled in order: a piece counts when all before it together cost less than the budget. What
was begun beyond that is thrown away (at most as many pieces as run at once; their answers are remembered), so the
same pieces are null with one worker and with ten. Remembered answers count at what they once cost: the budget is the
price of the result, and a second run spends nothing but ends with the same nulls.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from pipeline.remote.endpoint import Budget
from pipeline.remote.faults import Fault
from pipeline.remote.structured import Asked
from pipeline.remote.wire import Usage

T = TypeVar("T")

Job = Callable[[], Asked[T]]


def in_order(jobs: Sequence[Job[T]], budget: Budget, workers: int) -> list[Asked[T]]:
    """Run `jobs`, at most `workers` at once; results in their order, those beyond the budget with OVER_BUDGET.

    What a job raises ends the whole; jobs not yet begun are dropped.
    """
    done: dict[int, Asked[T]] = {}
    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        _run(pool, jobs, budget, workers, done)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return _settle(done, len(jobs), budget)


def over(spent: Usage, budget: Budget) -> bool:
    """Whether nothing more may be begun."""
    return spent.calls >= budget.calls or spent.tokens >= budget.tokens


def _run(
    pool: ThreadPoolExecutor, jobs: Sequence[Job[T]], budget: Budget, workers: int, done: dict[int, Asked[T]]
) -> None:
    running: dict[Future[Asked[T]], int] = {}
    spent = Usage()
    for number, job in enumerate(jobs):
        while len(running) >= workers:
            spent += _collect(running, done)
        if over(spent, budget):
            break
        running[pool.submit(job)] = number
    while running:
        _collect(running, done)


def _collect(running: dict[Future[Asked[T]], int], done: dict[int, Asked[T]]) -> Usage:
    """Wait for at least one piece and put away what is finished; returns what it cost."""
    spent = Usage()
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        answer = future.result()
        done[running.pop(future)] = answer
        spent += answer.usage
    return spent


def _settle(done: dict[int, Asked[T]], count: int, budget: Budget) -> list[Asked[T]]:
    spent, settled = Usage(), list[Asked[T]]()
    for number in range(count):
        if over(spent, budget):
            detail = f"{budget.calls} calls or {budget.tokens} tokens were spent; raise the budget in params.yaml"
            settled.append(Asked(None, fault=Fault.OVER_BUDGET, detail=detail))
        else:
            settled.append(done[number])
            spent += done[number].usage
    return settled
