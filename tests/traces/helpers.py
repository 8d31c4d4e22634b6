"""Small files in, traces and quarantine rows out."""

from pathlib import Path
from typing import Any

import orjson

from pipeline.records import JsonObject, Message, Quarantined, Trace
from pipeline.traces.folder import read_file

LIMIT = 1 << 20

USER: JsonObject = {"role": "user", "content": "How tall is it?"}
ANSWER: JsonObject = {"role": "assistant", "content": "Five metres."}


def lines(*rows: Any) -> bytes:
    """Rows as JSON Lines; bytes stay as they are."""
    return b"".join((row if isinstance(row, bytes) else orjson.dumps(row)) + b"\n" for row in rows)


def read(folder: Path, content: bytes, name: str = "traces.jsonl", limit: int = LIMIT) -> list[Trace | Quarantined]:
    """Everything that one file with this content becomes."""
    path = folder / name
    path.write_bytes(content)
    return list(read_file(path, name, limit))


def traces(items: list[Trace | Quarantined]) -> list[Trace]:
    """The traces among the items, when all others are wanted out of the way."""
    return [item for item in items if isinstance(item, Trace)]


def only(items: list[Trace | Quarantined]) -> Trace:
    """The one trace that came out, and nothing beside it."""
    assert len(items) == 1, items
    assert isinstance(items[0], Trace), items[0]
    return items[0]


def refused(items: list[Trace | Quarantined]) -> list[tuple[int, str | None, str]]:
    """Line, field and reason of the quarantine rows."""
    return [(item.line, item.field, item.reason) for item in items if isinstance(item, Quarantined)]


def said(messages: tuple[Message, ...]) -> list[tuple[str, str | None]]:
    """Role and content of each message."""
    return [(message.role, message.content) for message in messages]


def call(name: str = "look", arguments: Any = '{"at": 1}', call_id: str | None = "c1") -> JsonObject:
    """An OpenAI tool call."""
    found: JsonObject = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return found if call_id is None else found | {"id": call_id}


def result(content: Any, call_id: str | None = "c1") -> JsonObject:
    """An OpenAI tool result."""
    found: JsonObject = {"role": "tool", "content": content}
    return found if call_id is None else found | {"tool_call_id": call_id}
