"""Messages of every dialect that spans carry: OpenAI chat and Responses, Anthropic, Gemini, LangChain, OpenTelemetry.

One recorded message may be several here: results of tools stand in user messages in some dialects.
"""

from collections.abc import Mapping
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Role
from pipeline.traces.conversation import inside
from pipeline.traces.reasons import Reason
from pipeline.traces.spans.calls import calls_of, item_of
from pipeline.traces.spans.content import Content
from pipeline.traces.spans.said import Call, Said

_ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "systemmessage": "system", "systemmessagechunk": "system",
    "user": "user", "human": "user", "humanmessage": "user", "humanmessagechunk": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "agent": "assistant", "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "tool": "tool", "function": "tool", "toolmessage": "tool", "functionmessage": "tool", "toolmessagechunk": "tool",
}  # fmt: skip
_ITEMS = (
    "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning",
)  # fmt: skip


def messages_of(raw: Any, default: Role | None = None) -> list[Said]:
    """The messages of a list; `default` is the role of those that name none. Raises TraceError naming the message."""
    if not isinstance(raw, list):
        raise TraceError(Reason.BAD_FIELD, f"messages must be a list, found {raw!r:.60}")
    if len(raw) == 1 and isinstance(raw[0], list):  # a batch of one
        raw = raw[0]
    found: list[Said] = []
    for index, each in enumerate(raw):
        try:
            found += message_of(each, default)
        except TraceError as fault:
            raise inside(f"[{index}]", fault) from fault
    return found


def message_of(raw: Any, default: Role | None = None) -> list[Said]:
    """One recorded message. Raises TraceError."""
    if isinstance(raw, str) and default is not None:
        return [Said(default, raw)]
    if not isinstance(raw, dict):
        raise TraceError(Reason.BAD_FIELD, f"a message must be an object, found {raw!r:.60}")
    raw = _unwrapped(raw)
    if raw.get("type") in _ITEMS and "role" not in raw:
        return [item_of(raw)]
    role = role_of(raw, default)
    content = _content(raw, role)
    calls = calls_of(raw, content.calls)
    if role == "tool":
        return content.turns or [_result(raw, content)]
    told = _told(raw, role, content, calls)
    return [*content.turns, told] if told is not None else content.turns


def role_of(raw: Mapping[str, Any], default: Role | None) -> Role:
    """The role, from `role` or, in LangChain's forms, from `type`. Raises TraceError."""
    for key in ("role", "type"):
        word = raw.get(key)
        if isinstance(word, str) and word.lower() in _ROLES:
            return _ROLES[word.lower()]
        if word is not None and key == "role":
            break
    if raw.get("role") is None and default is not None:
        return default
    raise TraceError(Reason.UNKNOWN_ROLE, f"unknown role {raw.get('role')!r:.60}", "role")


def _unwrapped(raw: JsonObject) -> JsonObject:
    """The message inside a LangChain constructor, an older LangChain dump, a choice, or an event."""
    if isinstance(raw.get("kwargs"), dict) and isinstance(raw.get("id"), list) and raw["id"]:
        name = str(raw["id"][-1]).lower()
        return {"role": name if name in _ROLES else raw["kwargs"].get("role"), **raw["kwargs"]}
    if isinstance(raw.get("data"), dict) and isinstance(raw.get("type"), str):
        return {"type": raw["type"], **raw["data"]}
    inner = raw.get("message")
    return dict(inner) if isinstance(inner, dict) and "role" not in raw and "content" not in raw else raw


def _content(raw: JsonObject, role: Role) -> Content:
    content = Content(role)
    for key in ("content", "parts", "contents", "text"):
        if raw.get(key) is not None:
            content.read(raw[key], key)
            break
    return content


def _told(raw: JsonObject, role: Role, content: Content, calls: list[Call]) -> Said | None:
    """What the message itself says; None when it held nothing but results."""
    said = content.text
    reasoning = content.reasoning or next(
        (raw[key] for key in ("reasoning_content", "reasoning", "thinking") if isinstance(raw.get(key), str)), None
    )
    if role == "assistant" and said is None and isinstance(raw.get("refusal"), str):
        said = raw["refusal"]
    if content.turns and said is None and reasoning is None and not calls:
        return None
    return Said(role, said, tuple(calls), None, _name(raw), reasoning or None, notes=tuple(content.notes))


def _result(raw: JsonObject, content: Content) -> Said:
    call_id = next((raw[key] for key in ("tool_call_id", "toolCallId", "id") if isinstance(raw.get(key), str)), None)
    failed = raw.get("status") == "error" or raw.get("is_error") is True
    return Said("tool", content.text, (), call_id, _name(raw), None, failed, tuple(content.notes))


def _name(raw: JsonObject) -> str | None:
    name = raw.get("name")
    return name if isinstance(name, str) and name else None
