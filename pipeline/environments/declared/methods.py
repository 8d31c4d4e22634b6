"""Tools of a spec as methods: name, signature, annotations and Google-style docstring, from the declaration alone."""

import inspect
import re
from collections.abc import Callable
from math import isfinite
from typing import Any, Literal

from pipeline.environments.declared.growth import MAX_TEXT
from pipeline.environments.declared.reading import MAX_WHOLE
from pipeline.environments.declared.spec import Parameter, Tool
from pipeline.errors import ToolError
from pipeline.records import JsonObject

_TYPES: dict[str, type] = {"string": str, "int": int, "float": float, "bool": bool}
_JSON_TYPES = {"string": "string", "int": "integer", "float": "number", "bool": "boolean"}
_WORDS = {"string": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}
_HALVES = re.compile("[\ud800-\udfff]")
MAX_KEY = 100
"""Characters of a value that names a row."""


def tool_method(name: str, tool: Tool) -> Callable[..., str]:
    """A method that hands its arguments to `DeclaredEnvironment._call`; no text of the spec is executed."""

    def method(self: Any, /, *args: Any, **kwargs: Any) -> str:
        if args or kwargs.keys() != annotations.keys():
            try:
                kwargs = dict(signature.bind(self, *args, **kwargs).arguments)
            except TypeError as error:
                self.refused += 1
                raise ToolError(f"bad arguments: {error!s:.200}") from error
            del kwargs["self"]
        return str(self._call(name, kwargs))

    annotations = {parameter: annotation(its) for parameter, its in tool.parameters.items()}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [inspect.Parameter("self", kind),
         *(inspect.Parameter(parameter, kind, annotation=its) for parameter, its in annotations.items())],
        return_annotation=str,
    )  # fmt: skip
    method.__name__ = name
    method.__qualname__ = name
    method.__doc__ = docstring(tool)
    method.__annotations__ = annotations | {"return": str}
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def tool_schema(name: str, tool: Tool) -> JsonObject:
    """The tool's schema in the OpenAI form: what TRL makes of `tool_method`, key by key, without importing it."""
    parameters: JsonObject = {
        "type": "object",
        "properties": {parameter: _property(its) for parameter, its in tool.parameters.items()},
    }
    if tool.parameters:
        parameters["required"] = list(tool.parameters)
    function = {"name": name, "description": _line(tool.about), "parameters": parameters}
    return {"type": "function", "function": function}


def annotation(parameter: Parameter) -> Any:
    """Python type of a parameter's values; an enum is a Literal."""
    return Literal[parameter.enum] if parameter.enum is not None else _TYPES[parameter.type]


def docstring(tool: Tool) -> str:
    """Google-style docstring, from which the tool's schema is made."""
    lines = [_line(tool.about), ""]
    if tool.parameters:
        lines += ["Args:", *(f"    {name}: {_line(its.about)}" for name, its in tool.parameters.items()), ""]
    return "\n".join([*lines, "Returns:", f"    {_line(tool.returns_about)}"])


def check_value(name: str, value: object, parameter: Parameter) -> None:
    """Raise ToolError when `value` is not of the parameter's type; a schema check may not have come before."""
    wanted = _TYPES[parameter.type]
    fits = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
    if not fits or (isinstance(value, bool) and wanted is not bool):
        raise ToolError(f"{name} must be {_WORDS[parameter.type]}")
    if isinstance(value, int) and abs(value) > MAX_WHOLE:
        raise ToolError(f"{name} is too large")
    if isinstance(value, float) and not isfinite(value):
        raise ToolError(f"{name} must be {_WORDS[parameter.type]}")
    if isinstance(value, str) and len(value) > (MAX_KEY if parameter.key is not None else MAX_TEXT):
        raise ToolError(f"{name} is too long")
    if isinstance(value, str) and _HALVES.search(value):
        raise ToolError(f"{name} must be text; it holds half a character")
    if parameter.enum is not None and value not in parameter.enum:
        raise ToolError(f"{name} must be one of {', '.join(parameter.enum)}")


def _property(parameter: Parameter) -> JsonObject:
    enum = {} if parameter.enum is None else {"enum": list(parameter.enum)}
    return {"type": _JSON_TYPES[parameter.type], **enum, "description": _line(parameter.about)}


def _line(text: str) -> str:
    return " ".join(text.split())
