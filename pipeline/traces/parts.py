"""Content that comes as a list of parts, as OpenAI's clients and some data sets write it."""

from typing import Any

import orjson

from pipeline.errors import TraceError
from pipeline.records import ToolCall
from pipeline.traces.conversation import Conversation, inside
from pipeline.traces.reasons import Reason

MEDIA = frozenset(
    {"image", "image_url", "input_image", "input_audio", "audio", "file", "input_file", "document", "video"}
)
"""Kinds of parts that are no text: a mark such as [image] takes their place, and their number is noted."""

_TEXT = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_REASONING = {"reasoning", "thinking"}

Parts = tuple[str | None, str | None, list[ToolCall]]
"""Text, reasoning, calls."""


def read_parts(parts: Any, talk: Conversation) -> Parts:
    """Text, reasoning and calls of a list of parts; texts are joined by newlines. Raises TraceError naming the part."""
    if not isinstance(parts, list):
        raise TraceError(Reason.BAD_FIELD, f"content must be text, a list or null, found {parts!r:.60}", "content")
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for index, part in enumerate(parts):
        try:
            _part(part, texts, thoughts, calls, talk)
        except TraceError as fault:
            raise inside(f"content[{index}]", fault) from fault
    return joined(texts), joined(thoughts), calls


def kind_of(part: Any) -> str:
    """The type of a part or block, empty when it has none."""
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


def joined(texts: list[str]) -> str | None:
    """One text, or None for none."""
    return "\n".join(texts) if texts else None


def media_mark(kind: str, talk: Conversation) -> str:
    """The mark that takes the place of a part that is no text; counted."""
    talk.counts["left_out_media"] += 1
    return f"[{kind}]"


def _part(part: Any, texts: list[str], thoughts: list[str], calls: list[ToolCall], talk: Conversation) -> None:
    if isinstance(part, str):
        texts.append(part)
        return
    kind = kind_of(part)
    if kind in _TEXT:
        texts.append(_string(part, _TEXT[kind]))
    elif kind in _REASONING:
        thoughts.append(_string(part, kind))
    elif kind in MEDIA:
        texts.append(media_mark(kind, talk))
    elif kind == "tool_call":
        calls.append(_call(_string(part, "value"), talk))
    else:
        raise TraceError(Reason.UNKNOWN_PART, f"unknown kind of part: {part!r:.80}", "type")


def _string(part: dict[str, Any], key: str) -> str:
    value = part.get(key, part.get("value", part.get("text")))
    if not isinstance(value, str):
        raise TraceError(Reason.BAD_FIELD, f"{key} must be text, found {value!r:.60}", key)
    return value


def _call(text: str, talk: Conversation) -> ToolCall:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise TraceError(Reason.BAD_TOOL_CALL, f"a call in a part is not JSON ({error})", "value") from error
    if not isinstance(value, dict):
        raise TraceError(Reason.BAD_TOOL_CALL, f"a call in a part must be an object, found {value!r:.60}", "value")
    return talk.call(value.get("id"), value.get("name"), value.get("arguments"))
