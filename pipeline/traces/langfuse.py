"""Langfuse: a trace with its observations, as the interface exports it, as the API returns it, or as rows apart.

Read: `{trace, observations}`; a trace of the API with `observations` inside; pages `{data, meta}`; and rows of traces,
observations and scores (snake case as well), which are put together by trace. `input`, `output` and `metadata` are JSON
text or JSON. Scores are kept by name and never averaged; which of them is the reward, only the user can say.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Quarantined, Trace
from pipeline.traces.conversation import inside
from pipeline.traces.preview import objects
from pipeline.traces.reading import FAULTS, fault_of, quarantined
from pipeline.traces.reasons import Reason
from pipeline.traces.spans.build import Run, build
from pipeline.traces.spans.gathering import read_gathered
from pipeline.traces.spans.langfuse_rows import camel, observation, scores_of
from pipeline.traces.spans.payloads import parsed
from pipeline.traces.spans.spool import Gathered, Spool
from pipeline.traces.spans.tree import Span

NAME = "langfuse"
_TYPES = frozenset({"SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING",
                    "GUARDRAIL"})  # fmt: skip
_SOURCES = ("API", "EVAL", "ANNOTATION")
_LEFT_OUT = frozenset({"input", "output", "observations", "metadata", "id"})
_PLUMBING = frozenset({"attributes", "resourceAttributes", "scope"})
"""What OpenTelemetry adds to metadata; the attributes repeat the messages."""

Piece = Literal["trace", "observation", "score"]


def sniff(head: bytes) -> bool:
    """Whether some record near the start is a trace, an observation or a page of these."""
    return any(_is_ours(row) for row in objects(head))


def read(path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield the conversations of every trace, or why there are none. Raises OSError."""
    return read_gathered(path, source, max_bytes, _gather, _conversations)


def _is_ours(row: JsonObject) -> bool:
    if isinstance(row.get("data"), list) and isinstance(row.get("meta"), dict):
        return any(isinstance(each, dict) and _kind(each) is not None for each in row["data"][:8])
    return _kind(row) is not None


def _kind(row: JsonObject) -> Piece | None:
    """What a row is. Spans of OpenTelemetry name their traces likewise, but have no such types."""
    trace_id = row.get("traceId", row.get("trace_id"))
    if isinstance(row.get("trace"), dict) and isinstance(row.get("observations"), list):
        return "trace"
    if isinstance(trace_id, str) and isinstance(row.get("type"), str) and row["type"].upper() in _TYPES:
        return "observation" if "startTime" in row or "start_time" in row else None
    if "value" in row and isinstance(trace_id, str) and row.get("source") in _SOURCES:
        return "score"
    ours = row.keys() & {"projectId", "project_id", "sessionId", "session_id", "htmlPath", "bookmarked", "scores"}
    listed = isinstance(row.get("observations"), list)
    return "trace" if isinstance(row.get("id"), str) and "timestamp" in row and (listed or len(ours) > 1) else None


def _gather(row: JsonObject, line: int, source: str, spool: Spool) -> Iterator[Quarantined]:
    page = row["data"] if isinstance(row.get("data"), list) and _kind(row) is None else []
    pieces = [(f"data[{index}]", each) for index, each in enumerate(page)] or [("", row)]
    for place, each in pieces:
        try:
            _keep(each, line, spool)
        except FAULTS as error:
            fault = fault_of(error)
            yield quarantined(source, line, inside(place, fault) if place else fault)


def _keep(row: Any, line: int, spool: Spool) -> None:
    kind = _kind(row) if isinstance(row, dict) else None
    if kind is None:
        seen = ", ".join(map(repr, row)) if isinstance(row, dict) else repr(row)
        raise TraceError(Reason.MISSING_FIELD, f"no trace, observation or score: {seen}"[:300], "id")
    if kind != "trace":
        spool.add(row.get("traceId", row.get("trace_id")), line, {kind: row})
        return
    outer = row["trace"] if isinstance(row.get("trace"), dict) else row
    trace_id = outer.get("id")
    if not isinstance(trace_id, str):
        raise TraceError(Reason.MISSING_FIELD, f"a trace needs an id, found {trace_id!r:.60}", "trace.id")
    spool.add(trace_id, line, {"trace": {key: value for key, value in outer.items() if key != "observations"}})
    for each in row.get("observations") or []:
        if isinstance(each, dict):  # lists of traces hold ids only; the observations are rows of their own
            spool.add(trace_id, line, {"observation": each})


def _conversations(gathered: Gathered, source: str) -> Iterator[Trace | Quarantined]:
    spans: dict[str, Span] = {}
    traces: list[JsonObject] = []
    scores: list[Any] = []
    for line, piece in gathered.pieces:
        if "trace" in piece:
            traces.append(camel(piece["trace"]))
        elif "score" in piece:
            scores.append(camel(piece["score"]))
        else:
            span = observation(camel(piece["observation"]), line, len(spans))
            spans[span.span_id] = span  # a later export of an observation knows more
    trace = traces[-1] if traces else {}
    own = trace.get("scores")
    run = _run(trace, gathered)
    whole, by_span, repeated = scores_of([*(own if isinstance(own, list) else []), *scores])
    run.scores = whole
    if repeated:
        run.metadata["repeated_scores"] = repeated
    for span_id, found in by_span.items():
        if span_id in spans:
            spans[span_id].scores = found
    if not spans:  # what the trace itself was asked and answered may be a conversation
        around = {key: trace.get(key) for key in ("input", "output", "name", "timestamp")}
        spans[""] = observation(around | {"id": gathered.trace_id, "type": "SPAN"}, gathered.line, 0)
    yield from build(run, list(spans.values()), source, NAME)


def _run(trace: JsonObject, gathered: Gathered) -> Run:
    run = Run(gathered.trace_id, gathered.line, gathered.ordinal)
    named = parsed(trace.get("metadata"))
    kept = {key: value for key, value in trace.items() if key not in _LEFT_OUT}
    if isinstance(named, dict):
        run.named = named
        kept["metadata"] = {key: value for key, value in named.items() if key not in _PLUMBING}
    run.metadata = {key: value for key, value in kept.items() if value}
    return run
