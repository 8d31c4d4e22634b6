"""Tool schemas of plain methods, read without transformers.

Importing transformers, and torch with it, takes seconds, which a stage that plays no model need not spend. Methods
whose hints are text, numbers, truth values, literals of text and lists of these, and whose docstring has a line for
each argument, are read here; any other is left to TRL's own function. Both give the same schema, key by key.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pipeline.records import JsonObject

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_DOCSTRING = re.compile(
    r"(?P<about>[^\n]+(?:\n[^\n]+)*)"
    r"(?:\n\nArgs:\n(?P<arguments>(?: {4}\w+: [^\n]+\n?)+))?"
    r"(?:\n+Returns:\n {4}[^\n]+)?"
)
_HEADINGS = re.compile(r"Args:|Returns:|Raises:|\(choices:", re.IGNORECASE)
"""Inside a text these would mean something to TRL's reader."""


def plain_schema(method: Callable[..., Any]) -> JsonObject | None:
    """The schema of a method in the OpenAI form, without what it returns; None where TRL's function must read it."""
    found = _DOCSTRING.fullmatch((inspect.getdoc(method) or "").strip())
    if found is None or any(_HEADINGS.search(text) for text in found.group("about", "arguments") if text):
        return None
    parameters = _parameters(method)
    hints = get_type_hints(method)
    texts = dict(line.strip().split(": ", 1) for line in (found["arguments"] or "").splitlines())
    properties = {name: _property(hints.get(name), texts.get(name)) for name in parameters}
    if None in properties.values():
        return None
    required = [name for name, its in parameters.items() if its.default is inspect.Parameter.empty]
    schema: JsonObject = {"type": "object", "properties": properties} | ({"required": required} if required else {})
    function = {"name": method.__name__, "description": found["about"].strip(), "parameters": schema}
    return {"type": "function", "function": function}


def _parameters(method: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters by name, without the instance."""
    parameters = dict(inspect.signature(method).parameters)
    first = next(iter(parameters), None)
    if first in ("self", "cls") and parameters[first].annotation is inspect.Parameter.empty:
        del parameters[first]
    return parameters


def _property(hint: Any, text: str | None) -> JsonObject | None:
    kind = None if text is None else _type(hint)
    return None if kind is None or text is None else kind | {"description": text.strip()}


def _type(hint: Any) -> JsonObject | None:
    if isinstance(hint, type) and hint in _TYPES:
        return {"type": _TYPES[hint]}
    arguments = get_args(hint)
    if get_origin(hint) is Literal and all(type(value) is str for value in arguments):
        return {"type": "string", "enum": list(arguments)}
    if get_origin(hint) is list:
        items = _type(arguments[0])
        return None if items is None else {"type": "array", "items": items}
    return None
