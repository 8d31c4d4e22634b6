"""A file of OpenTelemetry's spans, of whatever conventions: gathered by trace, read, and made into conversations."""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Quarantined, Trace, TraceStatus
from pipeline.traces.preview import objects
from pipeline.traces.reading import FAULTS, fault_of, quarantined
from pipeline.traces.reasons import Reason
from pipeline.traces.spans import genai, openinfer
from pipeline.traces.spans.batches import is_span, spans_in
from pipeline.traces.spans.build import Run, build
from pipeline.traces.spans.flat import nested
from pipeline.traces.spans.gathering import read_gathered
from pipeline.traces.spans.otlp import read_span
from pipeline.traces.spans.payloads import parsed
from pipeline.traces.spans.spool import Gathered, Spool
from pipeline.traces.spans.tree import Span

_PREVIEWED = 500
_NAMED = ("task_id", "group_id", "trial", "try_id")
_KEPT = ("session.id", "gen_ai.conversation.id", "user.id", "service.name", "gen_ai.agent.name")


def first_spans(head: bytes) -> list[JsonObject]:
    """The first spans of a file, in the shape of `otlp`; none where it holds no spans."""
    found = (span for row in objects(head) if is_span(row) for _, span in spans_in(row) if isinstance(span, dict))
    try:
        return [read_span(span) for span in islice(found, _PREVIEWED)]
    except RecursionError:  # nested more deeply than any span is
        return []


def read_spans(path: Path, source: str, max_bytes: int, form: str) -> Iterator[Trace | Quarantined]:
    """Yield the conversations of every trace of a file. Raises OSError."""
    return read_gathered(path, source, max_bytes, _gather, partial(_conversations, form=form))


def _gather(row: JsonObject, line: int, source: str, spool: Spool) -> Iterator[Quarantined]:
    for trace_id, span in spans_in(row):
        try:
            if isinstance(span, TraceError):
                raise span
            spool.add(trace_id, line, span)
        except FAULTS as error:
            yield quarantined(source, line, fault_of(error))


def _conversations(gathered: Gathered, source: str, form: str) -> Iterator[Trace | Quarantined]:
    shapes = [(line, read_span(piece)) for line, piece in gathered.pieces]
    logs: dict[str, list[Any]] = {}
    for _, shape in shapes:
        if "name" not in shape:
            logs.setdefault(shape["span_id"], []).extend(shape["events"])
    spans: dict[str, Span] = {}
    run = Run(gathered.trace_id, gathered.line, gathered.ordinal)
    for line, shape in shapes:
        if "name" in shape and shape["span_id"] not in spans:
            shape["events"] += logs.pop(shape["span_id"], [])
            spans[shape["span_id"]] = _span(shape, line, len(spans))
            _note(run, shape)
        elif "name" in shape:  # exporters send a span again when they get no answer
            run.metadata["repeated_spans"] = run.metadata.get("repeated_spans", 0) + 1
    if not spans:
        text = "log records of spans that are not in the file"
        yield quarantined(source, gathered.line, TraceError(Reason.MISSING_FIELD, text, "spans"))
        return
    if logs:
        run.metadata["logs_without_span"] = sum(map(len, logs.values()))
    yield from build(run, list(spans.values()), source, form)


def _span(shape: JsonObject, line: int, position: int) -> Span:
    order = (shape["start"], position)
    span = Span(shape["span_id"], shape["parent_id"], shape["name"], "other", order, line, shape["error"])
    if openinfer.marks(shape["attributes"]) or not genai.marks(shape["attributes"]):
        openinfer.interpret(shape, span)
    unread = span.kind == "other" or (span.kind == "llm" and not span.readable)
    if unread and genai.marks(shape["attributes"]):
        genai.interpret(shape, span)
    return span


def _note(run: Run, shape: JsonObject) -> None:
    """What the trace's metadata takes over from its spans."""
    attributes = shape["attributes"]
    beside = parsed(nested(attributes, "metadata"))  # where OpenInference keeps what the user recorded
    for place in (attributes, beside if isinstance(beside, dict) else {}):
        run.named |= {key: place[key] for key in _NAMED if key in place and key not in run.named}
    run.metadata |= {key: attributes[key] for key in _KEPT if key in attributes and key not in run.metadata}
    if "start_time" not in run.metadata or 0 < shape["start"] < run.metadata["start_time"]:
        run.metadata["start_time"] = shape["start"]
    if shape["parent_id"] is None and shape["error"] is None and shape["ok"]:
        run.status = TraceStatus.OK
