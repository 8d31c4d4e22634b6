"""Recorded runs as calls and what they were answered, from a table of traces.

Names, arguments and answers are data of others: compared, counted and handed on as text, nothing else.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.records import TRACES, JsonObject, Message, Trace
from pipeline.rows import trace_from_row
from pipeline.tables import dumps, read_parquet


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One readable call; `answer` None means that none was recorded."""

    tool: str
    arguments: JsonObject
    answer: str | None

    @property
    def key(self) -> str:
        """Canonical JSON text of the arguments."""
        return dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Recording:
    """One run. `group` is the task that it is a try of: its own id where the trace names none."""

    trace_id: str
    group: str
    system: str
    question: str
    """The first message of the user; empty when there is none."""
    calls: tuple[RecordedCall, ...]
    closing: str
    """The agent's last message, where it is no call; else empty."""
    reward: float | None
    tools: tuple[JsonObject, ...]
    harness_hash: str
    source: str


def read_recordings(path: Path) -> Iterator[Recording]:
    """Every trace of a table that `ingest` wrote, in its order. Raises InputError."""
    for row in read_parquet(path, TRACES):
        yield recording(trace_from_row(row))


def recording(trace: Trace) -> Recording:
    """What of a trace can be replayed."""
    last = trace.messages[-1] if trace.messages else None
    closing = last.content if last is not None and last.role == "assistant" and not last.tool_calls else None
    return Recording(
        trace.trace_id, trace.group_id or trace.trace_id, _first(trace.messages, "system"),
        _first(trace.messages, "user"), tuple(_calls(trace.messages)), closing or "", trace.reward, trace.tools,
        trace.harness_hash, trace.source,
    )  # fmt: skip


def recorded_schemas(recordings: Iterable[Recording]) -> dict[str, JsonObject]:
    """Schemas of the tools by name: as recorded where they were, else made from the arguments seen."""
    found: dict[str, JsonObject] = {}
    calls: dict[str, list[JsonObject]] = {}
    for one in recordings:
        for schema in one.tools:
            found.setdefault(schema["function"]["name"], schema)
        for call in one.calls:
            calls.setdefault(call.tool, []).append(call.arguments)
    return found | {
        name: {"type": "function", "function": {"name": name, "description": "", "parameters": seen_schema(arguments)}}
        for name, arguments in calls.items() if name not in found
    }  # fmt: skip


def seen_schema(arguments: Iterable[JsonObject]) -> JsonObject:
    """A JSON schema of objects like these: types as seen, required what none of them lacks."""
    kinds: dict[str, set[str]] = {}
    counts: dict[str, int] = {}
    total = 0
    for one in arguments:
        total += 1
        for name, value in one.items():
            kinds.setdefault(name, set()).add(json_type(value))
            counts[name] = counts.get(name, 0) + 1
    properties = {name: {"type": _one_type(seen)} for name, seen in kinds.items()}
    return {
        "type": "object", "properties": properties, "required": [name for name in kinds if counts[name] == total],
    }  # fmt: skip


def json_type(value: object) -> str:
    """Name of a JSON value's type."""
    if isinstance(value, bool):
        return "boolean"
    names = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _one_type(seen: set[str]) -> str | list[str]:
    kinds = sorted(seen - {"integer"} if "number" in seen else seen)
    return kinds[0] if len(kinds) == 1 else kinds


def _first(messages: Iterable[Message], role: str) -> str:
    return next((message.content or "" for message in messages if message.role == role), "")


def _calls(messages: Iterable[Message]) -> Iterator[RecordedCall]:
    """Calls in order. An answer belongs to the first call of that id that still waits, since ids may repeat."""
    made: list[RecordedCall] = []
    waiting: dict[str, list[int]] = {}
    for message in messages:
        for call in message.tool_calls:
            if call.arguments is not None:
                waiting.setdefault(call.id, []).append(len(made))
                made.append(RecordedCall(call.name, call.arguments, None))
        if message.role == "tool" and message.tool_call_id and waiting.get(message.tool_call_id):
            place = waiting[message.tool_call_id].pop(0)
            made[place] = RecordedCall(made[place].tool, made[place].arguments, message.content or "")
    yield from made
