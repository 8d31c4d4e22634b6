"""OpenAI chat completions and fine-tuning rows: `{"messages": [...], "tools": [...]?}`, as JSON Lines or JSON.

Also read: the older `functions` / `function_call` / role `function`; `weight` (and `loss_weight`) 0 on a message, which
keeps it out of every loss; calls that are JSON text themselves; content in parts; an object that holds request bodies
under names of its own. `task_id`, `trial`, `reward` and the like may stand beside `messages` (see docs/traces.md).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Message, Quarantined, Role, ToolCall, Trace
from pipeline.traces import anthropic_messages, openai_responses
from pipeline.traces.conversation import Conversation, inside
from pipeline.traces.framing import Record, line_record, records
from pipeline.traces.lines import Lines, Span, lines_of_span
from pipeline.traces.origin import build_trace, row_origin
from pipeline.traces.parts import read_parts
from pipeline.traces.preview import objects
from pipeline.traces.quick_chat import QuickChat, Told
from pipeline.traces.reading import FAULTS, fault_of, quarantined, read_record, read_rows
from pipeline.traces.reasons import Reason
from pipeline.traces.tools import read_tools

Quick = Trace | Told | Quarantined | Lines

NAME = "openai_chat"
_KEYS = frozenset({"messages", "tools", "functions"})
_ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool",
    "function": "tool",
}  # fmt: skip


def sniff(head: bytes) -> bool:
    """Whether some record near the start holds chat messages, or request bodies that do."""
    return any(
        _has_messages(row) or "preferred_output" in row or any(map(_speaks, row.values())) for row in objects(head)
    )


def read(path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield a trace or a quarantine row for every record. Raises OSError."""
    return read_rows(path, source, max_bytes, _parse)


def read_quickly(path: Path, source: str, max_bytes: int, span: Span | None, quick: bool) -> Iterator[Quick]:
    """The same as `read`, by a shortcut if `quick`, and of a `span` of a plain file of JSON Lines. Raises OSError."""
    chat = QuickChat(source, NAME, _KEYS)
    if span is None:
        for record in records(path, max_bytes):
            told = chat.of_record(record) if quick else None
            yield from read_record(record, source, _parse) if told is None else (told,)
        return
    with path.open("rb") as stream:
        for line in lines_of_span(stream, max_bytes, span):
            if isinstance(line, Lines):
                yield line
            else:
                told = chat.of_line(line) if quick and len(line.data) <= max_bytes else None
                yield from read_record(line_record(line, max_bytes), source, _parse) if told is None else (told,)


def _parse(row: JsonObject, record: Record, source: str) -> list[Trace | Quarantined]:
    if "messages" in row:
        return [parse_row(row, record, source)]
    if "preferred_output" in row:
        raise TraceError(Reason.PREFERENCE_PAIR, "preference pairs are no runs", "preferred_output")
    bodies = {key: value for key, value in row.items() if isinstance(value, dict)}
    if not any(map(_has_messages, bodies.values())):
        raise TraceError(Reason.MISSING_FIELD, f"no messages; keys are {', '.join(map(repr, row))}"[:300], "messages")
    return [_body(key, body, record, source) for key, body in bodies.items()]


def _body(key: str, body: JsonObject, record: Record, source: str) -> Trace | Quarantined:
    responses = openai_responses.has_items(body)
    if "messages" not in body and not responses:
        fault = TraceError(Reason.UNKNOWN_FORMAT, f"no chat messages; keys are {', '.join(map(repr, body))}"[:300], key)
        return quarantined(source, record.line, fault)
    try:
        return openai_responses.parse_row(body, record, source) if responses else parse_row(body, record, source)
    except FAULTS as error:
        return quarantined(source, record.line, inside(key, fault_of(error)))


def parse_row(row: JsonObject, record: Record, source: str) -> Trace:
    """The trace of one row. Raises TraceError."""
    origin = row_origin(row, _KEYS)
    key = "tools" if row.get("tools") else "functions"
    try:
        talk = read_messages(row["messages"])
        return build_trace(record, source, NAME, talk, origin, read_tools(row.get(key), key))
    except TraceError as fault:
        if fault.reason == Reason.UNKNOWN_PART and anthropic_messages.has_marks(row):
            return anthropic_messages.parse_row(row, record, source)
        raise


def read_messages(raw: Any, field: str = "messages", talk: Conversation | None = None) -> Conversation:
    """Chat messages in order, results linked, behind those of `talk`. Raises TraceError naming the field."""
    if not isinstance(raw, list):
        raise TraceError(Reason.BAD_FIELD, f"{field} must be a list, found {type(raw).__name__}", field)
    talk = Conversation() if talk is None else talk
    for index, message in enumerate(raw):
        try:
            read_message(message, talk)
        except TraceError as fault:
            raise inside(f"{field}[{index}]", fault) from fault
    return talk


def read_message(raw: Any, talk: Conversation) -> None:
    """Append one chat message to `talk`. Raises TraceError naming the field."""
    if not isinstance(raw, dict):
        raise TraceError(Reason.BAD_FIELD, f"a message must be an object, found {raw!r:.60}")
    role = _role(raw)
    content = raw.get("content")
    reasoning: str | None = None
    calls: list[ToolCall] = []
    if content is not None and not isinstance(content, str):
        content, reasoning, calls = read_parts(content, talk)
    name = _text(raw, "name") if "name" in raw else None
    if role == "tool":
        talk.answer(_text(raw, "tool_call_id"), content, name)
        return
    if role == "assistant":
        if "tool_calls" in raw or "function_call" in raw:
            calls += read_calls(raw, talk)
        if "reasoning_content" in raw or "reasoning" in raw:
            reasoning = reasoning or _text(raw, "reasoning_content") or _text(raw, "reasoning")
        if content is None and "refusal" in raw:
            content = _text(raw, "refusal")
    talk.say(Message(role, content, tuple(calls), None, name, reasoning, _trainable(raw)))


def _role(raw: JsonObject) -> Role:
    try:
        return _ROLES[raw["role"]]
    except (KeyError, TypeError) as error:  # TypeError: a list or an object cannot be looked up
        raise TraceError(Reason.UNKNOWN_ROLE, f"unknown role {raw.get('role')!r:.60}", "role") from error


def read_calls(raw: JsonObject, talk: Conversation) -> list[ToolCall]:
    """The calls of an assistant message. Raises TraceError naming the call."""
    entries = raw.get("tool_calls") or []
    if not isinstance(entries, list):
        raise TraceError(Reason.BAD_TOOL_CALL, f"tool_calls must be a list, found {entries!r:.60}", "tool_calls")
    calls: list[ToolCall] = []
    for index, entry in enumerate(entries):
        try:
            calls.append(_call(entry, talk))
        except TraceError as fault:
            raise inside(f"tool_calls[{index}]", fault) from fault
    if (old := raw.get("function_call")) is not None:
        calls.append(_call({"function": old}, talk))
    return calls


def _call(entry: Any, talk: Conversation) -> ToolCall:
    if isinstance(entry, str):
        try:
            entry = orjson.loads(entry)
        except orjson.JSONDecodeError as error:
            raise TraceError(Reason.BAD_TOOL_CALL, f"a tool call is text, but not JSON ({error})") from error
    function = entry.get("function", entry if "name" in entry else None) if isinstance(entry, dict) else None
    if not isinstance(function, dict):
        raise TraceError(Reason.BAD_TOOL_CALL, f"a tool call needs a function, found {entry!r:.80}", "function")
    return talk.call(entry.get("id"), function.get("name"), function.get("arguments"))


def _trainable(raw: JsonObject) -> bool:
    if "weight" in raw or "loss_weight" in raw:
        weight = raw.get("weight", raw.get("loss_weight"))
        return weight is None or bool(weight)
    return True


def _text(raw: JsonObject, key: str) -> str | None:
    value = raw.get(key)
    if value is None or isinstance(value, str):
        return value
    raise TraceError(Reason.BAD_FIELD, f"{key} must be text, found {value!r:.60}", key)


def _has_messages(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("messages"), list)


def _speaks(body: Any) -> bool:
    return _has_messages(body) and any(isinstance(m, dict) and m.get("role") == "assistant" for m in body["messages"])
