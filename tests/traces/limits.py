"""What reading one damaged input may cost: a minute of CPU is a hang, a gigabyte is memory without a limit."""

import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

CPU_SECONDS = 60
MEMORY_KB = 1 << 20


@contextmanager
def bounded() -> Iterator[Callable[[], None]]:
    """Fail when what is done inside hangs, or takes a gigabyte more than this process ever had.

    What it gives is called before each input, which then has a minute of its own.
    """
    before = peak_kb()
    former = signal.signal(signal.SIGVTALRM, _hangs)
    try:
        _begin()
        yield _begin
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
    assert peak_kb() - before < MEMORY_KB


def _begin() -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)


def peak_kb() -> int:
    """The most memory that this process ever had, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _hangs(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {CPU_SECONDS} seconds of CPU for one input")
