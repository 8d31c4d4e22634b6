"""Spans of the OpenInference conventions (Phoenix, Arize): flat attributes `llm.input_messages.0.message.role`.

They are read however they were exported: flat, as trees, or as lists of objects with dotted names.
"""

from typing import Any

from pipeline.records import JsonObject
from pipeline.traces.spans.content import text_of
from pipeline.traces.spans.flat import gaps, nested
from pipeline.traces.spans.payloads import Heard, parsed, request, response
from pipeline.traces.spans.said import Call
from pipeline.traces.spans.tree import Kind, Span, ToolUse

_KINDS: dict[str, Kind] = {"LLM": "llm", "TOOL": "tool", "AGENT": "agent"}
KINDS = (*_KINDS, "CHAIN", "RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "PROMPT")
"""The kinds of span that the conventions have; a tuple, since what a file says may be a list, which no set takes."""


def marks(attributes: JsonObject) -> bool:
    """Whether a span is of these conventions."""
    return any(key.startswith(("openinference", "llm.input_messages", "llm.output_messages")) for key in attributes)


def interpret(raw: JsonObject, span: Span) -> None:
    """Fill in what the attributes of a span in the shape of `otlp` say."""
    attributes = raw["attributes"]
    kind = nested(attributes, "openinference.span.kind") or raw["kind"]
    span.kind = _KINDS.get(kind.upper(), "other") if isinstance(kind, str) else "other"
    model = nested(attributes, "llm.model_name")
    span.model = model if isinstance(model, str) else None
    asked, answered = nested(attributes, "input.value"), nested(attributes, "output.value")
    if span.kind == "tool":
        span.tool = _tool(attributes, asked, answered, span.name)
        return
    span.asked = _messages(attributes, "llm.input_messages", request)
    span.answered = _messages(attributes, "llm.output_messages", response)
    span.asked.gaps = gaps(attributes, "llm.input_messages")
    if not span.asked.messages:
        span.asked = _value(asked, span, request) or span.asked
    if not span.answered.messages:
        span.answered = _value(answered, span, response) or span.answered
    span.asked.tools = _tools(attributes) or span.asked.tools


def _messages(attributes: JsonObject, prefix: str, read: Any) -> Heard:
    found = parsed(nested(attributes, prefix))
    if not isinstance(found, list):
        return Heard()
    heard: Heard = read([_message(each) for each in found])
    return heard


def _message(raw: Any) -> Any:
    """The message inside its wrapper, with calls and results of the names that others use."""
    inner = raw.get("message", raw) if isinstance(raw, dict) else raw
    if not isinstance(inner, dict):
        return inner
    found = {key: value for key, value in inner.items() if not key.startswith("function_call_")}
    if inner.get("function_call_name"):
        found["function_call"] = {"name": inner["function_call_name"],
                                  "arguments": inner.get("function_call_arguments_json")}  # fmt: skip
    return found


def _value(raw: Any, span: Span, read: Any) -> Heard | None:
    """What stands in `input.value` or `output.value`; plain text there is a message of a model only."""
    value = parsed(raw)
    if value is None or (span.kind != "llm" and not isinstance(value, dict | list)):
        return None
    heard: Heard = read(value)
    return heard


def _tool(attributes: JsonObject, asked: Any, answered: Any, name: str) -> ToolUse:
    ids = (nested(attributes, key) for key in ("tool_call.id", "tool.call.id", "tool.id", "message.tool_call_id"))
    named = nested(attributes, "tool.name") or nested(attributes, "tool_call.function.name") or name
    arguments = parsed(asked)
    if not isinstance(arguments, dict):
        arguments = parsed(nested(attributes, "tool_call.function.arguments")) or arguments
    call = Call(next((each for each in ids if isinstance(each, str)), None), named, arguments)
    return ToolUse(call, answered if isinstance(answered, str) else text_of(answered))


def _tools(attributes: JsonObject) -> Any:
    found = nested(attributes, "llm.tools")
    if not isinstance(found, list):
        return None
    schemas = (each.get("tool", each) if isinstance(each, dict) else each for each in found)
    inner = (each.get("json_schema", each) if isinstance(each, dict) else each for each in schemas)
    return [parsed(each) for each in inner]
