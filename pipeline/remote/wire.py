"""Messages to the JSON of chat completions and back.

An answer is kept as far as it is understood: text, refusal, tool calls, reasoning, why it ended, and what it cost.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import BaseModel, Field, ValidationError

from pipeline.records import JsonObject, Message, ToolCall
from pipeline.remote.faults import Fault, RemoteFault

_SURROGATES = re.compile("[\ud800-\udfff]")
_CHARACTERS_A_TOKEN = 4
"""Rough size of a token, for servers that do not say what an answer cost."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What answers cost: their number, and prompt and completion tokens."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls, self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )  # fmt: skip

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the model. `fault` None means that there is text or a call to go on with."""

    message: Message
    usage: Usage
    fault: Fault | None
    detail: str


class _Function(BaseModel):
    name: str
    arguments: str | JsonObject = ""


class _Call(BaseModel):
    id: str | None = None
    function: _Function


class _Said(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(BaseModel):
    message: _Said
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(default=0, ge=0)


class Completion(BaseModel):
    """The part of a chat completion that is read, and all of it that is remembered."""

    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


def read_completion(body: bytes | str) -> Completion:
    """Parse a server's answer. Raises RemoteFault when it is no chat completion."""
    try:
        return Completion.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RemoteFault(Fault.SERVER_ERROR, f"not a chat completion: {where} {first['msg']}".strip()) from error


def to_reply(completion: Completion, request_size: int) -> Reply:
    """The first choice as a reply; `request_size` in characters is what a missing usage is estimated from."""
    choice = completion.choices[0]
    said = choice.message
    calls = tuple(_call(call, n) for n, call in enumerate(said.tool_calls or ()))
    message = Message("assistant", said.content, calls, reasoning=said.reasoning_content or said.reasoning)
    fault, detail = _fault(choice)
    return Reply(message, _cost(completion, request_size), fault, detail)


def to_wire(messages: Sequence[Message]) -> list[JsonObject]:
    """Messages as a request holds them."""
    return [_to_wire(message) for message in messages]


def clean(value: Any) -> Any:
    """A JSON value without lone surrogates, which no JSON text can carry."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, list | tuple) else value


def _to_wire(message: Message) -> JsonObject:
    found: JsonObject = {"role": message.role, "content": message.content or ""}
    if message.tool_calls:
        found["content"] = message.content
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw_arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        found["tool_call_id"] = message.tool_call_id
    return found


def _call(call: _Call, number: int) -> ToolCall:
    identity, name, given = call.id or f"call_{number}", call.function.name, call.function.arguments
    raw = orjson.dumps(given).decode() if isinstance(given, dict) else given
    try:
        arguments = orjson.loads(raw) if raw.strip() else {}
    except orjson.JSONDecodeError as error:
        return ToolCall(identity, name, None, raw, f"not valid JSON: {error}")
    if not isinstance(arguments, dict):
        return ToolCall(identity, name, None, raw, "arguments must be a JSON object")
    return ToolCall(identity, name, arguments, orjson.dumps(arguments).decode())


def _fault(choice: _Choice) -> tuple[Fault | None, str]:
    said = choice.message
    if said.refusal or choice.finish_reason == "content_filter":
        return Fault.REFUSED, said.refusal or "stopped by the server's content filter"
    if choice.finish_reason == "length":
        return Fault.TRUNCATED, "the answer reached max_tokens"
    if not said.tool_calls and not (said.content or "").strip():
        return Fault.EMPTY, "the model answered with nothing"
    return None, ""


def _cost(completion: Completion, request_size: int) -> Usage:
    if completion.usage is not None:
        return Usage(1, completion.usage.prompt_tokens, completion.usage.completion_tokens)
    said = completion.choices[0].message
    answer_size = len(said.content or "") + sum(len(str(call.function.arguments)) for call in said.tool_calls or ())
    return Usage(1, request_size // _CHARACTERS_A_TOKEN, answer_size // _CHARACTERS_A_TOKEN)
