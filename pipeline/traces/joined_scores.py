"""Scores that arrive after the traces: CSV or JSON Lines in a folder of their own, joined by trace or by try.

A row has a `score`, a `name` (the file's stem where it has none), and `trace_id`, or `source`, `task_id` and `try`.
A score that comes later replaces the trace's own of the same name. What fits no trace is quarantined with its line.
"""

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.errors import TraceError
from pipeline.records import Quarantined, Trace
from pipeline.rows import Row
from pipeline.traces.folder import check_regular, trace_files
from pipeline.traces.framing import records
from pipeline.traces.opening import open_trace, read_head
from pipeline.traces.origin import identifier
from pipeline.traces.reading import quarantined, row_object
from pipeline.traces.reasons import Reason

_HEAD = 4096
_WORDS = {"true": 1.0, "false": 0.0}

Rows = Iterator[tuple[int, Mapping[str, Any]]]


class Arrived(NamedTuple):
    """One score and where it stands."""

    value: float
    source: str
    line: int


@dataclass(frozen=True, slots=True)
class Later:
    """All scores of the folder: key of a trace or try -> name -> score. It may be sent to other processes."""

    by_key: dict[str, dict[str, Arrived]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    """Names of all scores."""

    def join(self, trace: Trace) -> Trace:
        """The trace with the scores that are meant for it; those for its own id count before those for its try."""
        if not self.by_key:
            return trace
        keys = _keys(trace.trace_id, trace.group_id, trace.try_id)
        found = [self.by_key[key] for key in keys if key in self.by_key]
        if not found:
            return trace
        more = {name: arrived.value for scores in found for name, arrived in scores.items()}
        return replace(trace, scores=trace.scores | more)

    def unmatched(self, met: set[str]) -> Iterator[Quarantined]:
        """A quarantine row for each score whose key is not among those of the traces."""
        for key, scores in self.by_key.items():
            if key in met:
                continue
            for arrived in scores.values():
                fault = TraceError(Reason.UNKNOWN_TRACE, f"no {_said(key)} was read")
                yield quarantined(arrived.source, arrived.line, fault)


def _said(key: str) -> str:
    task, separator, number = key.partition("\n")
    if not separator:
        return f"trace {key}"
    return f"{task}, try {number}," if number else f"{task} without a try"


def keys_of_row(row: Row) -> tuple[str, ...]:
    """What a score may call the trace of a row by, the more exact one last."""
    return _keys(row["trace_id"], row["group_id"], row["try_id"])


def _keys(trace_id: str, group_id: str | None, try_id: str | None) -> tuple[str, ...]:
    return (trace_id,) if group_id is None else (f"{group_id}\n{try_id or ''}", trace_id)


def load_scores(
    folder: Path, name: str, max_bytes: int, plain: Callable[[str], str] = str
) -> tuple[Later, list[Quarantined]]:
    """All scores below `folder`, which need not exist, and what of it cannot be read.

    `name` is what users call the folder; `plain` is what becomes of the ids of tasks and tries in the table of traces.
    """
    later, faults = Later(), []
    for source, path in trace_files(folder) if folder.is_dir() else []:
        where = f"{name}/{source}"
        for line, found in _file(path, max_bytes):
            try:
                if isinstance(found, TraceError):
                    raise found
                _add(later, found, Path(source).stem, plain, where, line)
            except TraceError as fault:
                faults.append(quarantined(where, line, fault))
    return later, faults


def _add(later: Later, row: Mapping[str, Any], stem: str, plain: Callable[[str], str], where: str, line: int) -> None:
    key, name, value = _key(row, plain), identifier(row.get("name"), "name") or stem, _value(row.get("score"))
    scores = later.by_key.setdefault(key, {})
    if name in scores:
        first = scores[name]
        differs = "" if first.value == value else f"; {value:g} differs from {first.value:g}, which is kept"
        raise TraceError(
            Reason.DUPLICATE_SCORE, f"{name} stands in {first.source}:{first.line} already{differs}", "name"
        )
    scores[name] = Arrived(value, where, line)
    later.names.add(name)


def _key(row: Mapping[str, Any], plain: Callable[[str], str]) -> str:
    trace_id = identifier(row.get("trace_id"), "trace_id")
    if trace_id:
        return trace_id.strip()
    source, task = identifier(row.get("source"), "source"), identifier(row.get("task_id"), "task_id")
    if not source or not task:
        raise TraceError(Reason.MISSING_FIELD, "neither trace_id, nor source and task_id", "trace_id")
    return f"{source}#{plain(task)}\n{plain(identifier(row.get('try'), 'try') or '')}"


def _value(raw: Any) -> float:
    if isinstance(raw, str):
        word = raw.strip().lower()
        try:
            raw = _WORDS[word] if word in _WORDS else float(word)
        except ValueError as error:
            raise TraceError(Reason.BAD_FIELD, f"score must be a number, found {raw!r:.60}", "score") from error
    if not isinstance(raw, int | float) or not math.isfinite(raw):
        raise TraceError(Reason.BAD_FIELD, f"score must be a finite number, found {raw!r:.60}", "score")
    return float(raw)


def _file(path: Path, max_bytes: int) -> Iterator[tuple[int, Mapping[str, Any] | TraceError]]:
    try:
        check_regular(path)
        if read_head(path, _HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
            for record in records(path, max_bytes):
                yield record.line, _object(record)
        else:
            yield from _csv(path)
    except OSError as error:
        yield 1, TraceError(Reason.UNREADABLE_FILE, f"cannot be read: {error.strerror}")
    except TraceError as fault:
        yield 1, fault


def _object(record: Any) -> Mapping[str, Any] | TraceError:
    try:
        return row_object(record)
    except TraceError as fault:
        return fault


def _csv(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | TraceError]]:
    with open_trace(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
        reader = csv.DictReader(text, strict=True)
        try:
            columns = set(reader.fieldnames or ())
            if not (columns >= {"trace_id", "score"} or columns >= {"source", "task_id", "score"}):
                known = ", ".join(map(repr, reader.fieldnames or ()))[:200]
                wanted = "a first line with score and trace_id, or score, source, task_id and try"
                yield (
                    1,
                    TraceError(Reason.MISSING_FIELD, f"a file of scores needs {wanted}; found {known or 'nothing'}"),
                )
                return
            for row in reader:
                yield reader.line_num, row
        except UnicodeDecodeError as error:
            yield (
                reader.reader.line_num + 1,
                TraceError(Reason.INVALID_UTF8, f"not UTF-8: {error.reason}; the rest is unread"),
            )
        except csv.Error as error:
            yield reader.reader.line_num, TraceError(Reason.BAD_FIELD, f"not CSV: {error}; the rest is left unread")
