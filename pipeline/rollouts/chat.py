"""Messages to what chat templates take, and the model's text back to messages.

Text from a model, a tool or a trace is data: control tokens that appear inside it are broken up before rendering, so
that no content can open or close a turn, and lone surrogates become U+FFFD, so that no tokenizer refuses it.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from pipeline.records import JsonObject, Message, ToolCall

CALL_OPEN, CALL_CLOSE = "<tool_call>", "</tool_call>"
SYNTAX_TOKENS = frozenset({CALL_OPEN, CALL_CLOSE, "<tool_response>", "</tool_response>", "<think>", "</think>"})
"""Special in some tokenizers, plain text in others; part of the protocol, so they may appear in an agent's text."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_CALL = re.compile(r"<tool_call>(.*?)(</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)


class Cleaner:
    """Makes text safe to stand inside a turn, given the tokenizer's special tokens."""

    def __init__(self, special_tokens: Iterable[str]) -> None:
        control = sorted(set(special_tokens) - SYNTAX_TOKENS - {""}, key=lambda token: (-len(token), token))
        self._control = re.compile("|".join(map(re.escape, control))) if control else None

    def text(self, value: str) -> str:
        """`value` without lone surrogates; a space follows the first character of each control token."""
        clean = _SURROGATES.sub("\ufffd", value)
        if self._control is None:
            return clean
        return self._control.sub(lambda match: f"{match.group()[0]} {match.group()[1:]}", clean)

    def json(self, value: Any) -> Any:
        """The same for every string inside a JSON value, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.json(item) for key, item in value.items()}
        return [self.json(item) for item in value] if isinstance(value, list | tuple) else value


def to_chat(message: Message, clean: Cleaner) -> JsonObject:
    """One message in the dict form of chat templates.

    Null content becomes the empty string, since some templates print None. Arguments go in as an object: a string would
    be encoded twice by templates that pass it through `tojson`. A message with an unreadable call is given as the
    text that the agent wrote.
    """
    chat: JsonObject = {"role": message.role, "content": clean.text(message.content or "")}
    if message.reasoning is not None:
        chat["reasoning_content"] = clean.text(message.reasoning)
    if message.tool_call_id is not None:
        chat["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        chat["name"] = clean.text(message.name)
    if any(call.arguments is None for call in message.tool_calls):
        blocks = [chat["content"], *(_block(call) for call in message.tool_calls)]
        chat["content"] = clean.text("\n".join(block for block in blocks if block))
    elif message.tool_calls:
        chat["tool_calls"] = [_call(call, clean) for call in message.tool_calls]
    return chat


def parse_message(text: str, turn: int = 0) -> Message:
    """The agent's text, end-of-turn token removed, as a message.

    Calls are Qwen's and Hermes' `<tool_call>{json}</tool_call>` blocks. Every block becomes a call named
    `call_<turn>_<n>`; one that cannot be read keeps its text in `raw_arguments` and says why in `parse_error`.
    Never raises.
    """
    text = _SURROGATES.sub("\ufffd", text)
    reasoning, text = _reasoning(text)
    blocks = list(_CALL.finditer(text))
    calls = tuple(_read(m.group(1), bool(m.group(2)), f"call_{turn}_{n}") for n, m in enumerate(blocks))
    content = _CALL.sub("", text).strip()
    return Message("assistant", content or (None if calls else ""), calls, reasoning=reasoning)


def _reasoning(text: str) -> tuple[str | None, str]:
    thought, mark, rest = text.partition("</think>")
    if not mark:
        return None, text
    return thought.replace("<think>", "", 1).strip() or None, rest.lstrip("\n")


def _read(block: str, closed: bool, call_id: str) -> ToolCall:
    raw = block.strip()
    if not closed:
        return ToolCall(call_id, "", None, raw, f"{CALL_CLOSE} is missing")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return ToolCall(call_id, "", None, raw, f"not valid JSON: {error}")
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return ToolCall(call_id, "", None, raw, 'expected an object {"name": ..., "arguments": {...}}')
    arguments = value.get("arguments")
    if not isinstance(arguments, dict):
        return ToolCall(call_id, value["name"], None, raw, "arguments must be a JSON object")
    return ToolCall(call_id, value["name"], arguments, orjson.dumps(arguments).decode())


def _call(call: ToolCall, clean: Cleaner) -> JsonObject:
    function = {"name": clean.text(call.name), "arguments": clean.json(call.arguments)}
    return {"type": "function", "id": call.id, "function": function}


def _block(call: ToolCall) -> str:
    body = call.raw_arguments
    if call.arguments is not None:
        body = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
    elif call.name and '"name"' not in body:
        body = f'{{"name": {json.dumps(call.name)}, "arguments": {body}}}'
    return f"{CALL_OPEN}\n{body}\n{CALL_CLOSE}"


def conversation(messages: Sequence[Message], clean: Cleaner) -> list[JsonObject]:
    """All messages in the dict form of chat templates."""
    return [to_chat(message, clean) for message in messages]
