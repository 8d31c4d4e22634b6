"""From the spans of one trace to Trace records: one for each conversation, and never none without a reason."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Quarantined, Trace, TraceStatus
from pipeline.traces.conversation import Conversation, inside
from pipeline.traces.framing import Record
from pipeline.traces.origin import Origin, build_trace, identifier
from pipeline.traces.reading import FAULTS, fault_of, quarantined
from pipeline.traces.reasons import Reason
from pipeline.traces.spans.conversations import inner_threads, threads_of
from pipeline.traces.spans.said import recite
from pipeline.traces.spans.threads import Thread
from pipeline.traces.spans.tree import Span, Tree
from pipeline.traces.tools import Tools, read_tools

_SHARED = ("start_time", "started_at", "timestamp", "request_time", "session.id", "sessionId", "session_id")
"""What of a trace's metadata stands at all of its conversations; the rest stands at the main one."""


@dataclass(slots=True)
class Run:
    """What was recorded of a trace beside its spans."""

    trace_id: str
    line: int
    ordinal: int
    status: TraceStatus = TraceStatus.UNKNOWN
    error: str | None = None
    scores: dict[str, float] = field(default_factory=dict)
    """Scores of the trace as a whole; those of a span stand at the span."""
    named: JsonObject = field(default_factory=dict)
    """Where `task_id` and `trial` are looked for: whatever the user recorded with the trace."""
    metadata: JsonObject = field(default_factory=dict)


def build(run: Run, spans: Sequence[Span], source: str, form: str) -> list[Trace | Quarantined]:
    """The conversations of a trace, or the reason why there are none."""
    tree = Tree(spans)
    threads = threads_of(tree)
    if not threads:
        return [quarantined(source, run.line, _nothing(tree))]
    inner = inner_threads(threads, tree)
    main = max(threads, key=lambda thread: (id(thread) not in inner, _turns(thread)))
    found: list[Trace | Quarantined] = []
    for index, thread in enumerate(threads):
        origin = _origin(run, tree, thread, thread is main)
        if id(thread) in inner:
            origin.metadata["sub_agent"] = True
        try:
            found.append(_trace(run, thread, origin, source, form, index))
        except FAULTS as error:
            found.append(quarantined(source, thread.spans[0].line, fault_of(error)))
    return found


def _trace(run: Run, thread: Thread, origin: Origin, source: str, form: str, index: int) -> Trace:
    if all(said.role in ("assistant", "tool") for said in thread.messages) and origin.status is not TraceStatus.ERROR:
        raise _unasked(thread)
    talk = Conversation()
    recite(thread.messages, talk, trainable="sub_agent" not in origin.metadata)
    record = Record.at(run.line, run.ordinal + index)
    trace = build_trace(record, source, form, talk, origin, _tools(thread))
    if thread.notes["linked_by_arguments"]:
        trace.metadata["linked_by"] = "arguments"
    return trace


def _unasked(thread: Thread) -> TraceError:
    """Why a conversation without a question is none that can be learned from."""
    faults = (span.asked.fault for span in thread.spans)
    fault = next((fault for fault in faults if fault is not None), None)
    text = "what the model was asked is not recorded"
    return TraceError(Reason.NO_CONTENT, f"{text}; {fault.message}" if fault is not None else text, "input")


def _nothing(tree: Tree) -> TraceError:
    """Why a trace holds no conversation."""
    calls = [span for span in tree.spans if span.kind == "llm"]
    if not calls:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(s.kind for s in tree.spans).items()))
        return TraceError(Reason.NO_MODEL_SPAN, f"no span is a call of a model; the spans are {kinds or 'none'}")
    for side, faults in (("input", [s.asked.fault for s in calls]), ("output", [s.answered.fault for s in calls])):
        fault = next((fault for fault in faults if fault is not None), None)
        if fault is not None:
            return inside(side, fault)
    text = f"{len(calls)} calls of a model without their messages; switch the capture of content on"
    return TraceError(Reason.NO_CONTENT, text)


def _origin(run: Run, tree: Tree, thread: Thread, main: bool) -> Origin:
    first, last = thread.spans[0], thread.spans[-1]
    beside = run.metadata if main else {key: run.metadata[key] for key in _SHARED if key in run.metadata}
    metadata = beside | _notes(tree, thread, main)
    metadata["otel_trace_id" if "trace_id" in metadata else "trace_id"] = run.trace_id
    origin = Origin(run_id=f"{run.trace_id}\n{first.span_id}", metadata=metadata)
    if main:
        origin.task_id = _identifier(run.named.get("task_id", run.named.get("group_id")))
        origin.try_id = _identifier(run.named.get("trial", run.named.get("try_id")))
        origin.scores = dict(run.scores)
    for span in (*([thread.scope] if thread.scope is not None else []), *thread.spans):
        origin.scores |= {name: value for name, value in span.scores.items() if name not in origin.scores}
    origin.status, origin.error = _status(run, tree, thread, main)
    if origin.status is not TraceStatus.ERROR and last.answered.truncated:
        origin.status = TraceStatus.TRUNCATED
    return origin


def _status(run: Run, tree: Tree, thread: Thread, main: bool) -> tuple[TraceStatus, str | None]:
    """An error is what ended the agent, or its last call; a tool that failed, or a call that was repeated, is none."""
    last = thread.spans[-1]
    outer = thread.scope if thread.scope is not None and thread.scope.kind == "agent" else None
    root = tree.root() if main else None
    lost = tree.last_failure(thread.scope)
    lost = lost if lost is not None and lost.order > last.order else None
    ended = (span.error for span in (outer, root, last, lost) if span is not None and span.kind != "tool")
    error = (run.error if main else None) or next((error for error in ended if error is not None), None)
    if error is not None or (main and run.status is TraceStatus.ERROR):
        return TraceStatus.ERROR, error or "the trace is marked as an error"
    return (run.status if main else TraceStatus.UNKNOWN), None


def _notes(tree: Tree, thread: Thread, main: bool) -> JsonObject:
    scope = thread.scope
    models = sorted({span.model for span in thread.spans if span.model})
    notes: JsonObject = {"agent": scope.name if scope is not None else None, "models": models, "spans": len(tree.spans)}
    notes["lost_inputs"] = sum(span.asked.fault is not None for span in thread.spans)
    notes["lost_outputs"] = sum(span.answered.fault is not None for span in thread.spans)
    if main:
        notes["spans_without_content"] = sum(span.kind == "llm" and not span.readable for span in tree.spans)
    notes |= {name: count for name, count in thread.notes.items() if name != "linked_by_arguments"}
    return {name: value for name, value in notes.items() if value}


def _tools(thread: Thread) -> Tools:
    """The tools of the last call that names any."""
    raw = next((span.asked.tools for span in reversed(thread.spans) if span.asked.tools), None)
    return read_tools(_flat(raw))


def _flat(raw: object) -> object:
    """Gemini groups declarations; a provider's own tool has a type and no name."""
    if not isinstance(raw, list):
        return raw
    found: list[object] = []
    for tool in raw:
        groups = ("function_declarations", "functionDeclarations")
        group = next((tool[key] for key in groups if isinstance(tool.get(key), list)), None) if _is(tool) else None
        if group is not None:
            found += group
        elif _is(tool) and "name" not in tool and "function" not in tool and isinstance(tool.get("type"), str):
            found.append(tool | {"name": tool["type"]})
        else:
            found.append(tool)
    return found


def _is(tool: object) -> bool:
    return isinstance(tool, dict)


def _turns(thread: Thread) -> int:
    return sum(said.role == "assistant" for said in thread.messages)


def _identifier(value: object) -> str | None:
    return identifier(value, "task_id") if isinstance(value, str | int) and not isinstance(value, bool) else None
