"""The tools of recorded runs as a spec can hold them: parameters with types, choices where few values occur."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.environments.recordings import RecordedCall, Recording, json_type, recorded_schemas
from pipeline.errors import InputError
from pipeline.records import JsonObject
from pipeline.synthesis.drafting.documents import MAX_TOOLS
from pipeline.synthesis.drafting.naming import parameter_name, tool_name
from pipeline.synthesis.drafting.schemas import one_line

MAX_CHOICES = 8
"""More different values than these are no choice."""
CHOSEN = "a choice because no other values were seen"
_ENOUGH = 10
"""Calls from which a choice may be concluded."""
_TYPES = {"string": "string", "integer": "int", "number": "float", "boolean": "bool"}
MAX_PARAMETERS = 20


@dataclass(slots=True)
class SeenParameter:
    """One parameter: its name in the spec and as recorded, its values in order, and what is unsure about it."""

    name: str
    recorded: str
    about: str
    type: str
    enum: tuple[str, ...] | None
    values: list[Any]
    table: str | None = None
    """Table whose rows its values name."""
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SeenTool:
    """One tool, and every call of it."""

    name: str
    recorded: str
    about: str
    parameters: dict[str, SeenParameter]
    calls: list[RecordedCall]
    notes: list[str] = field(default_factory=list)

    @property
    def key(self) -> SeenParameter | None:
        """The first parameter that names a row."""
        return next((its for its in self.parameters.values() if its.table is not None), None)

    def value(self, call: RecordedCall, parameter: SeenParameter) -> Any:
        """What a call of it gives for a parameter; None where it was left out."""
        return call.arguments.get(parameter.recorded)


def seen_tools(where: str, recordings: Sequence[Recording], chosen: Collection[str] = ()) -> dict[str, SeenTool]:
    """Tools by their name in the spec, in the order of the traces. Raises InputError for none, or more than fit."""
    calls: dict[str, list[RecordedCall]] = {}
    for one in recordings:
        for call in one.calls:
            calls.setdefault(call.tool, []).append(call)
    found: dict[str, SeenTool] = {}
    for recorded, schema in recorded_schemas(recordings).items():
        name = tool_name(recorded, found)
        if not chosen or name in chosen:
            found[name] = _tool(name, recorded, schema["function"], calls.get(recorded, []))
    if absent := sorted(set(chosen) - found.keys()):
        raise InputError(f"{where}: no run knows a tool called {absent[0]!r}")
    if not found:
        raise InputError(f"{where}: no run calls a tool, so there is nothing to draft from")
    if len(found) > MAX_TOOLS:
        raise InputError(f"{where}: {len(found)} tools, but a spec has at most {MAX_TOOLS}; choose with --tool NAME, "
                         f"again for each, of {', '.join(found)}"[:4000])  # fmt: skip
    return found


def _tool(name: str, recorded: str, function: JsonObject, calls: list[RecordedCall]) -> SeenTool:
    about = _without_headings(one_line(function.get("description")))
    tool = SeenTool(name, recorded, about or name.replace("_", " "), {}, calls)
    if not about:
        tool.notes.append("nothing says what it does")
    if recorded != name:
        tool.notes.append(f"recorded as {recorded}")
    schemas = _properties(function)
    names = dict.fromkeys([*schemas, *(each for call in calls for each in call.arguments)])
    for place, each in enumerate(names):
        if place >= MAX_PARAMETERS:
            tool.notes.append(f"parameter {each} is left out: a tool has at most {MAX_PARAMETERS}")
            continue
        values = [call.arguments[each] for call in calls if each in call.arguments]
        parameter = _parameter(parameter_name(each, name, tool.parameters), each, schemas.get(each), values)
        if missing := len(calls) - len(values):
            parameter.notes.append(f"left out in {missing} of {len(calls)} calls; in a spec all are given")
        tool.parameters[parameter.name] = parameter
    return tool


def _without_headings(text: str) -> str:
    """A description without what a spec may not hold: headings of a docstring."""
    return re.sub(r"\b(Args|Returns|Raises):|\(choices:", lambda found: found.group().replace(":", ""), text)


def _properties(function: JsonObject) -> JsonObject:
    schema = function.get("parameters")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _parameter(name: str, recorded: str, schema: Any, values: list[Any]) -> SeenParameter:
    said: JsonObject = schema if isinstance(schema, dict) else {}
    about = _without_headings(one_line(said.get("description")))
    kinds = {json_type(value) for value in values if value is not None}
    kind = said.get("type") if isinstance(said.get("type"), str) else _common(kinds)
    about = about or name.replace("_", " ")
    parameter = SeenParameter(name, recorded, about, _TYPES.get(str(kind), "string"), None, values)
    if recorded != name:
        parameter.notes.append(f"recorded as {recorded}")
    if str(kind) not in _TYPES:
        parameter.notes.append(f"recorded as {kind}, which the form has not: here as text")
    if not _of_type(parameter.type, values):
        parameter.type = "string"
        parameter.notes.append(f"values are of several types: {', '.join(sorted(kinds))}")
    _choose(parameter, said.get("enum"))
    return parameter


def _choose(parameter: SeenParameter, declared: Any) -> None:
    """A choice as declared, or where few short texts came again and again."""
    if isinstance(declared, list) and declared and all(isinstance(each, str) for each in declared):
        parameter.enum = tuple(dict.fromkeys(declared))[:100]
        return
    counts = Counter(value for value in parameter.values if isinstance(value, str))
    often = counts and min(counts.values()) >= 2 and sum(counts.values()) >= _ENOUGH
    if parameter.type == "string" and often and len(counts) <= MAX_CHOICES and max(map(len, counts)) <= 40:
        parameter.enum = tuple(sorted(counts))
        parameter.notes.append(CHOSEN)


def _common(kinds: set[str]) -> str:
    if kinds == {"integer", "number"}:
        return "number"
    return next(iter(kinds)) if len(kinds) == 1 else "string"


def _of_type(kind: str, values: list[Any]) -> bool:
    fitting = {"string": (str, list, dict), "int": (int,), "float": (int, float), "bool": (bool,)}[kind]
    return all(value is None or isinstance(value, fitting) for value in values)
