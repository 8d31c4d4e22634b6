"""The work of an ingest, cut into pieces for several processes: units of files, and spans of large files of chat rows.

The pieces depend on the files alone, so that any number of processes makes the same of them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import TraceError
from pipeline.traces import FORMATS, openai_chat
from pipeline.traces.chunks import Item
from pipeline.traces.framing import is_lines
from pipeline.traces.lines import Span
from pipeline.traces.opening import is_packed, read_head
from pipeline.traces.preview import HEAD_BYTES
from pipeline.traces.reading import quarantined
from pipeline.traces.reasons import Reason
from pipeline.traces.units import Unit, read_unit

_LARGE = 4 << 20
"""Bytes from which a file is looked at before it is read."""
_SPAN = 8 << 20


class Job(NamedTuple):
    """One piece of work."""

    unit: Unit
    chat: bool
    """Whether it is one large file of OpenAI chat rows."""
    span: Span | None
    """Only these of its bytes."""


def jobs(units: list[Unit]) -> Iterator[Job]:
    """The pieces in the order of their results."""
    for unit in units:
        path = unit.files[0][1]
        size = _large_chat(path) if unit.layout == "file" else 0
        if size == 0 or is_packed(path) or not is_lines(read_head(path, HEAD_BYTES)):
            yield Job(unit, size > 0, None)
        else:
            yield from (Job(unit, True, Span(start, min(size, start + _SPAN))) for start in range(0, size, _SPAN))


def read_job(job: Job, max_bytes: int, quick: bool) -> Iterator[Item]:
    """All that comes of a piece; by the shortcut for chat rows where that is allowed."""
    if not (job.chat and (quick or job.span)):
        yield from read_unit(job.unit, max_bytes)
        return
    source, path = job.unit.files[0]
    try:
        yield from openai_chat.read_quickly(path, source, max_bytes, job.span, quick)
    except OSError as error:
        yield quarantined(source, 1, TraceError(Reason.UNREADABLE_FILE, f"cannot be read: {error.strerror}"))


def _large_chat(path: Path) -> int:
    """Size of a large file of chat rows, 0 for any other."""
    try:
        if path.is_symlink() or not path.is_file() or (size := path.stat().st_size) < _LARGE:
            return 0
        head = read_head(path, HEAD_BYTES)
    except (OSError, TraceError):
        return 0  # whoever reads it says why
    form = next((name for name, form in FORMATS.items() if form.sniff(head)), None)
    return size if form == openai_chat.NAME else 0
