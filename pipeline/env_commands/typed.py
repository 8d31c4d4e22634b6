"""What a person types, as a call: `get_claim claim_id=C-1234`, `get_claim C-1234`, or JSON in either place."""

import difflib
import shlex
from collections.abc import Collection
from typing import Any

import orjson

from pipeline.environments.worlds import World
from pipeline.errors import RehearsalError
from pipeline.records import JsonObject, ToolCall


class Hint(RehearsalError, ValueError):
    """The line is no call; the message says what was meant, perhaps. Nothing has been called."""


def read_call(world: World, line: str) -> ToolCall:
    """The call that a line stands for. Raises Hint."""
    name, rest = _name(line.strip())
    tools = {tool["function"]["name"]: tool["function"] for tool in world.tools}
    if name not in tools:
        raise Hint(_close(name, tools, "there is no tool"))
    properties: JsonObject = tools[name]["parameters"].get("properties", {})
    arguments = rest if isinstance(rest, dict) else _arguments(rest, properties)
    unknown = next((key for key in arguments if key not in properties), None)
    if unknown is not None:
        raise Hint(_close(unknown, properties, f"{name} takes no argument"))
    absent = [key for key in properties if key not in arguments]
    if absent:
        raise Hint(f"{name} also needs {', '.join(absent)}")
    return ToolCall("typed", name, arguments, orjson.dumps(arguments).decode())


def _name(line: str) -> tuple[str, JsonObject | str]:
    """Name of the tool, and its arguments as an object or as the text that follows."""
    if line.startswith("{"):
        call = _object(line)
        arguments = call.get("arguments", {})
        if not isinstance(call.get("name"), str) or not isinstance(arguments, dict):
            raise Hint('a call in JSON is {"name": "...", "arguments": {...}}')
        return call["name"], arguments
    name, _, rest = line.partition(" ")
    rest = rest.strip()
    return name, _object(rest) if rest.startswith("{") else rest


def _object(text: str) -> JsonObject:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Hint(f"that is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Hint("the arguments in JSON are one object")
    return value


def _arguments(text: str, properties: JsonObject) -> JsonObject:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Hint(f"{error}; close the quotes") from error
    arguments: JsonObject = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            left = [key for key in properties if key not in arguments]
            if not left:
                raise Hint(f"{word!r} is one argument too many")
            name, value = left[0], word
        if name in arguments:
            raise Hint(f"{name} is given twice")
        arguments[name] = _value(value, properties.get(name, {}))
    return arguments


def _value(text: str, schema: JsonObject) -> Any:
    """The text in the type of the parameter, where it can be read so; else as it is, for the tool to refuse."""
    kind = schema.get("type")
    if kind in ("string", None):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _close(name: str, names: Collection[str], what: str) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"{what} {name!r}; " + (f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names) or 'none'}")
