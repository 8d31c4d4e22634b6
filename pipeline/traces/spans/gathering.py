"""A file whose records are pieces of traces, in any order: pieces first, then the conversations of each trace."""

from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Quarantined, Trace
from pipeline.traces.framing import records
from pipeline.traces.origin import check_finite
from pipeline.traces.reading import fault_of, quarantined, row_object
from pipeline.traces.spans.spool import Gathered, Spool, spooled

Gather = Callable[[JsonObject, int, str, Spool], Iterator[Quarantined]]
"""`gather(row, line, source, spool)` keeps a row's pieces, and yields why some cannot be kept."""
Converse = Callable[[Gathered, str], Iterator[Trace | Quarantined]]
"""`converse(gathered, source)` makes conversations of the pieces of one trace."""


def read_gathered(
    path: Path, source: str, max_bytes: int, gather: Gather, converse: Converse
) -> Iterator[Trace | Quarantined]:
    """Yield the conversations of every trace of a file, and why a record or a trace has none. Raises OSError."""
    with spooled(max_bytes) as spool:
        for record in records(path, max_bytes):
            try:
                row = row_object(record)
                check_finite(record)
            except TraceError as fault:
                yield quarantined(source, record.line, fault)
                continue
            try:
                yield from gather(row, record.line, source, spool)
            except RecursionError as error:
                yield quarantined(source, record.line, fault_of(error))
        for gathered in spool.traces():
            if gathered.fault is not None:
                yield quarantined(source, gathered.line, gathered.fault)
                continue
            try:
                yield from converse(gathered, source)
            except RecursionError as error:
                yield quarantined(source, gathered.line, fault_of(error))
