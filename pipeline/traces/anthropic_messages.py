"""Anthropic's messages: `{"system"?, "tools"?: [{name, description, input_schema}], "messages": [...]}`.

Tool results stand in user messages; they become messages of role tool, in the order in which they stand. The system
prompt is a field of its own and becomes the first message.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Message, Quarantined, ToolCall, Trace
from pipeline.traces.conversation import Conversation, inside
from pipeline.traces.framing import Record
from pipeline.traces.origin import build_trace, row_origin
from pipeline.traces.parts import MEDIA, joined, kind_of, media_mark
from pipeline.traces.preview import objects
from pipeline.traces.reading import read_rows
from pipeline.traces.reasons import Reason
from pipeline.traces.tools import read_tools

NAME = "anthropic_messages"
_KEYS = frozenset({"messages", "tools", "system"})
_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})


def sniff(head: bytes) -> bool:
    """Whether some row near the start has messages and a mark of this dialect."""
    return any(map(has_marks, objects(head)))


def has_marks(row: JsonObject) -> bool:
    """Whether a row shows what only this dialect has: a system field, input schemas, blocks of calls or results."""
    messages = row.get("messages")
    if not isinstance(messages, list):
        return False
    tools = row.get("tools")
    if isinstance(tools, list) and tools and isinstance(tools[0], dict) and "input_schema" in tools[0]:
        return True
    return isinstance(row.get("system"), str | list) or any(map(_has_blocks, messages))


def read(path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield a trace or a quarantine row for every record. Raises OSError."""
    return read_rows(path, source, max_bytes, lambda row, record, source: [parse_row(row, record, source)])


def parse_row(row: JsonObject, record: Record, source: str) -> Trace:
    """The trace of one row. Raises TraceError."""
    messages = row.get("messages")
    if not isinstance(messages, list):
        raise TraceError(Reason.MISSING_FIELD, f"messages must be a list, found {messages!r:.60}", "messages")
    origin = row_origin(row, _KEYS)
    talk = Conversation()
    if row.get("system"):
        _system(row["system"], talk)
    for index, message in enumerate(messages):
        try:
            read_message(message, talk)
        except TraceError as fault:
            raise inside(f"messages[{index}]", fault) from fault
    return build_trace(record, source, NAME, talk, origin, read_tools(row.get("tools")))


def read_message(raw: Any, talk: Conversation, trainable: bool = True) -> None:
    """Append what one message says to `talk`. Raises TraceError naming the block."""
    if not isinstance(raw, dict):
        raise TraceError(Reason.BAD_FIELD, f"a message must be an object, found {raw!r:.60}")
    role = raw.get("role")
    if "content" not in raw:
        raise TraceError(Reason.MISSING_FIELD, f"no content; keys are {', '.join(map(repr, raw))}"[:300], "content")
    content = raw["content"]
    if role == "assistant":
        weight = raw.get("weight")
        talk.say(agent_message(content, talk, trainable and (weight is None or bool(weight))))
    elif role == "user":
        _user(content, talk, trainable)
    elif role == "system":
        _system(content, talk)
    else:
        raise TraceError(Reason.UNKNOWN_ROLE, f"unknown role {role!r:.60}", "role")


def agent_message(content: Any, talk: Conversation, trainable: bool) -> Message:
    """One turn of the agent from its text or blocks. Raises TraceError."""
    if content is None or isinstance(content, str):
        return Message("assistant", content, trainable=trainable)
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for index, block in enumerate(_list(content)):
        try:
            _agent_block(block, texts, thoughts, calls, talk)
        except TraceError as fault:
            raise inside(f"content[{index}]", fault) from fault
    return Message("assistant", joined(texts), tuple(calls), None, None, joined(thoughts), trainable)


def _agent_block(block: Any, texts: list[str], thoughts: list[str], calls: list[ToolCall], talk: Conversation) -> None:
    kind = kind_of(block)
    if kind == "text":
        texts.append(_string(block, "text"))
    elif kind == "thinking":
        thoughts.append(_string(block, "thinking"))
    elif kind == "tool_use":
        calls.append(talk.call(block.get("id"), block.get("name"), block.get("input")))
    elif kind == "redacted_thinking":
        talk.counts["redacted_thinking"] += 1
    else:
        texts.append(_other(block, talk))


def _user(content: Any, talk: Conversation, trainable: bool) -> None:
    if content is None or isinstance(content, str):
        talk.say(Message("user", content, trainable=trainable))
        return
    texts: list[str] = []
    for index, block in enumerate(_list(content)):
        try:
            if kind_of(block) == "tool_result":
                _say_texts(texts, talk, trainable)
                _result(block, talk, trainable)
            else:
                texts.append(_text_block(block, talk))
        except TraceError as fault:
            raise inside(f"content[{index}]", fault) from fault
    _say_texts(texts, talk, trainable)


def _say_texts(texts: list[str], talk: Conversation, trainable: bool) -> None:
    if texts:
        talk.say(Message("user", joined(texts), trainable=trainable))
        texts.clear()


def _result(block: JsonObject, talk: Conversation, trainable: bool) -> None:
    call_id = block.get("tool_use_id")
    if call_id is not None and not isinstance(call_id, str):
        raise TraceError(Reason.BAD_FIELD, f"tool_use_id must be text, found {call_id!r:.60}", "tool_use_id")
    content = block.get("content")
    if content is not None and not isinstance(content, str):
        content = joined([_text_block(part, talk) for part in _list(content)])
    talk.answer(call_id, content, error=block.get("is_error") is True, trainable=trainable)


def _system(content: Any, talk: Conversation) -> None:
    try:
        text = content if isinstance(content, str) else joined([_text_block(block, talk) for block in _list(content)])
    except TraceError as fault:
        raise inside("system", fault) from fault
    talk.say(Message("system", text))


def _text_block(block: Any, talk: Conversation) -> str:
    if kind_of(block) == "text":
        return _string(block, "text")
    return _other(block, talk)


def _other(block: Any, talk: Conversation) -> str:
    kind = kind_of(block)
    if kind in MEDIA:
        return media_mark(kind, talk)
    raise TraceError(Reason.UNKNOWN_PART, f"unknown kind of block: {block!r:.80}", "type")


def _string(block: JsonObject, key: str) -> str:
    value = block.get(key)
    if not isinstance(value, str):
        raise TraceError(Reason.BAD_FIELD, f"{key} must be text, found {value!r:.60}", key)
    return value


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise TraceError(Reason.BAD_FIELD, f"content must be text, a list or null, found {content!r:.60}", "content")
    return content


def _has_blocks(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, list) and any(kind_of(block) in _BLOCKS for block in content)
