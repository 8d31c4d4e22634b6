"""The content of a message: text, or parts of any dialect, tool calls and tool results among them."""

from collections.abc import Mapping
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Role
from pipeline.traces.conversation import inside
from pipeline.traces.decode import encode
from pipeline.traces.parts import MEDIA, joined
from pipeline.traces.reasons import Reason
from pipeline.traces.spans.said import Call, Said

_TEXTS = ("text", "input_text", "output_text", "text_delta", "refusal", "summary_text")
_THOUGHTS = ("reasoning", "thinking", "reasoning_content")
_CALLS = ("tool_call", "tool_use", "tool-call", "function_call", "server_tool_use", "server_tool_call")
_RESULTS = (
    "tool_call_response", "tool_result", "tool-result", "function_call_output", "server_tool_call_response",
)  # fmt: skip
_MEDIA = (*MEDIA, "blob", "uri", "image-url", "audio_url", "video_url", "media")
_KEYED = {"functionCall": "call", "function_call": "call", "functionResponse": "result",
          "function_response": "result", "inlineData": "media", "inline_data": "media", "fileData": "media",
          "file_data": "media", "message_content": "nested"}  # fmt: skip


class Content:
    """Collects what the parts of one message say."""

    def __init__(self, role: Role) -> None:
        self.turns: list[Said] = []
        """Results among the parts, and the texts that stand before them, as messages of their own."""
        self.calls: list[Call] = []
        self.notes: list[str] = []
        self._role = role
        self._texts: list[str] = []
        self._thoughts: list[str] = []

    @property
    def text(self) -> str | None:
        """The texts that no result follows, joined by newlines."""
        return joined(self._texts)

    @property
    def reasoning(self) -> str | None:
        """The reasoning, joined by newlines."""
        return joined(self._thoughts)

    def read(self, raw: Any, key: str) -> None:
        """Take in a message's content. Raises TraceError naming the part."""
        if isinstance(raw, str):
            self._texts.append(raw)
        elif isinstance(raw, list):
            for index, part in enumerate(raw):
                try:
                    self._part(part)
                except TraceError as fault:
                    raise inside(f"{key}[{index}]", fault) from fault
        elif isinstance(raw, dict) and self._role == "tool":
            self._texts.append(text_of(raw) or "")
        elif isinstance(raw, dict):
            self._part(raw)
        else:
            raise TraceError(Reason.BAD_FIELD, f"{key} must be text, a list or null, found {raw!r:.60}", key)

    def _part(self, part: Any) -> None:
        if isinstance(part, str):
            self._texts.append(part)
            return
        if not isinstance(part, dict):
            raise TraceError(Reason.UNKNOWN_PART, f"unknown kind of part: {part!r:.80}")
        kind = part.get("type", part.get("kind"))
        if kind in _TEXTS:
            self._texts.append(_string(part, ("text", "content", "value", "refusal")))
        elif kind in _THOUGHTS:
            self._thoughts.append(_string(part, ("content", "thinking", "text", "reasoning", "summary")))
        elif kind in _CALLS:
            self.calls.append(_call(part))
        elif kind in _RESULTS:
            self._result(part)
        elif kind in _MEDIA:
            self._mark(str(part.get("modality") or kind))
        elif kind == "redacted_thinking":
            self.notes.append("redacted_thinking")
        else:
            self._keyed(part)

    def _keyed(self, part: JsonObject) -> None:
        """A part that says what it is by the one key that it has."""
        key = next((key for key in _KEYED if isinstance(part.get(key), dict)), None)
        if key is not None and _KEYED[key] == "call":
            self.calls.append(_call(part[key]))
        elif key is not None and _KEYED[key] == "result":
            self._result(part[key])
        elif key is not None and _KEYED[key] == "media":
            self._mark("file")
        elif key is not None:
            self._part(part[key])
        elif "type" not in part and isinstance(part.get("text"), str):
            (self._thoughts if part.get("thought") is True else self._texts).append(part["text"])
        elif self._role == "tool":
            self._texts.append(encode(part))
        else:
            raise TraceError(Reason.UNKNOWN_PART, f"unknown kind of part: {part!r:.80}", "type")

    def _mark(self, kind: str) -> None:
        self._texts.append(f"[{kind}]")
        self.notes.append("left_out_media")

    def _result(self, part: JsonObject) -> None:
        if self._texts:
            self.turns.append(Said(self._role, self.text))
            self._texts.clear()
        ids = (part.get(key) for key in ("id", "tool_use_id", "tool_call_id", "toolCallId", "call_id"))
        call_id = next((each for each in ids if isinstance(each, str)), None)
        name = part.get("name", part.get("toolName"))
        named = name if isinstance(name, str) else None
        held = next((part[k] for k in ("response", "result", "content", "output") if part.get(k) is not None), None)
        self.turns.append(Said("tool", text_of(held), (), call_id, named, None, part.get("is_error") is True))


def text_of(value: Any) -> str | None:
    """The text of a tool's result: what stands in text parts, or in the one field that wraps it, else JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        if "content" in value and (len(value) == 1 or value.keys() & {"tool_call_id", "isError", "is_error", "role"}):
            return text_of(value["content"])
        if value.keys() == {"output"}:
            return text_of(value["output"])
        if value.get("type") in _TEXTS and isinstance(value.get("text"), str):
            return str(value["text"])
    if isinstance(value, list) and value and all(isinstance(e, dict) and e.get("type") in _TEXTS for e in value):
        return joined([_string(part, ("text", "content", "value")) for part in value])
    return encode(value)


def _string(part: JsonObject, names: tuple[str, ...]) -> str:
    value = next((part[name] for name in names if part.get(name) is not None), None)
    if isinstance(value, list):
        return text_of(value) or ""
    if not isinstance(value, str):
        raise TraceError(Reason.BAD_FIELD, f"{names[0]} must be text, found {value!r:.60}", names[0])
    return value


def _call(part: JsonObject) -> Call:
    ids = (part.get(key) for key in ("id", "toolCallId", "call_id", "tool_call_id"))
    values = (part.get(key) for key in ("arguments", "input", "args"))
    return Call(
        next((each for each in ids if isinstance(each, str)), None),
        part.get("name", part.get("toolName")),
        next((each for each in values if each is not None), None),
    )
