"""What every reader shares: from the records of a file to traces and quarantine rows, none lost."""

from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Quarantined, Trace
from pipeline.traces.framing import Record, records
from pipeline.traces.reasons import Reason

FAULTS = (TraceError, RecursionError)
"""What reading a part of a file may raise, so that the other parts go on."""
Parse = Callable[[JsonObject, Record, str], list[Trace | Quarantined]]
"""Object, the record it stands in, source -> what it becomes. Raises TraceError."""


def read_rows(path: Path, source: str, max_bytes: int, parse: Parse) -> Iterator[Trace | Quarantined]:
    """Read a file in which each record is one run. Raises OSError."""
    for record in records(path, max_bytes):
        yield from read_record(record, source, parse)


def read_record(record: Record, source: str, parse: Parse) -> Iterator[Trace | Quarantined]:
    """What one record becomes."""
    try:
        yield from parse(row_object(record), record, source)
    except FAULTS as error:
        yield quarantined(source, record.line, fault_of(error))


def fault_of(error: TraceError | RecursionError) -> TraceError:
    """The fault that kept something from being read; a value that is too deep cannot even be shown in a message."""
    return error if isinstance(error, TraceError) else TraceError(Reason.TOO_DEEP, "nested too deeply to be read")


def row_object(record: Record) -> JsonObject:
    """The record's object. Raises TraceError when there is none."""
    if record.fault is not None:
        raise record.fault
    if not isinstance(record.value, dict):
        kind = type(record.value).__name__
        raise TraceError(Reason.NOT_AN_OBJECT, f"a record must be an object, found {kind}: {record.value!r:.60}")
    return record.value


def quarantined(source: str, line: int, fault: TraceError) -> Quarantined:
    """The quarantine row of a fault."""
    return Quarantined(source, line, fault.field, str(fault.reason), fault.message)


def part_of(record: Record, prefix: str, ordinal: int) -> Record:
    """The place of one of several runs in a record: NaN in another of them is not its own."""
    paths = tuple(path[len(prefix) :].lstrip(".") for path in record.repairs.not_finite if path.startswith(prefix))
    return record._replace(ordinal=ordinal, repairs=record.repairs._replace(not_finite=paths))


def missing(key: str, row: JsonObject) -> TraceError:
    """The fault of a record that lacks `key`: says which keys it has instead."""
    return TraceError(Reason.MISSING_FIELD, f"no {key}; keys are {', '.join(map(repr, row))}"[:300], key)


Pieces = list[tuple[Record, JsonObject]]
Build = Callable[[Pieces, Record, str], Trace]
"""Pieces of a run, the place of the first with what had to be repaired in all, source. Raises TraceError."""


def read_pieces(
    path: Path, source: str, max_bytes: int, parse: Parse, is_piece: Callable[[JsonObject], bool], build: Build
) -> Iterator[Trace | Quarantined]:
    """Read a file in which each record is a run, or a piece of the one run that the file is. Raises OSError.

    A run with a hole in it is no run: when a piece cannot be read, the others are refused with it.
    """
    pieces: Pieces = []
    whole = True
    for record in records(path, max_bytes):
        try:
            row = row_object(record)
            if is_piece(row):
                pieces.append((record, row))
            else:
                yield from parse(row, record, source)
        except FAULTS as error:
            whole = whole and record.fault is None and isinstance(record.value, dict)
            yield quarantined(source, record.line, fault_of(error))
    if pieces:
        yield _assembled(pieces, whole, source, build)


def _assembled(pieces: Pieces, whole: bool, source: str, build: Build) -> Trace | Quarantined:
    first = pieces[0][0]
    if not whole:
        hole = TraceError(Reason.TRUNCATED_FILE, "part of this run cannot be read")
        return quarantined(source, first.line, hole)
    surrogates = sum(record.repairs.surrogates for record, _ in pieces)
    paths = tuple(f"message.{path}" for record, _ in pieces for path in record.repairs.not_finite)
    place = first._replace(repairs=first.repairs._replace(surrogates=surrogates, not_finite=paths))
    try:
        return build(pieces, place, source)
    except FAULTS as error:
        return quarantined(source, first.line, fault_of(error))
