"""The form of a spec, told to a model: a reference made from the spec's own models, and a shipped spec, shortened."""

from functools import cache
from io import StringIO
from typing import Any

from ruamel.yaml import YAML

from pipeline.environments.declared import SHIPPED
from pipeline.environments.declared.spec import Spec
from pipeline.records import JsonObject

NAME_PATTERN = "^[a-z][a-z0-9_]*"
_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


@cache
def reference() -> str:
    """Every kind of part with its keys, their types, defaults and meaning; the whole spec first."""
    schema = Spec.model_json_schema()
    parts = {"Spec": {key: value for key, value in schema.items() if key != "$defs"}} | schema["$defs"]
    return "\n\n".join(_part(name, part) for name, part in parts.items())


@cache
def example() -> str:
    """The claims desk, valid as it stands, without habits and with a case a rule and two phrases a question."""
    yaml = YAML()
    yaml.width = 120
    spec = yaml.load((SHIPPED / "claims.yaml").read_text(encoding="utf-8"))
    del spec["procedure"]["habits"]
    rules: set[str] = set()
    for name, case in list(spec["cases"].items()):
        if case["rule"] in rules:
            del spec["cases"][name]
        rules.add(case["rule"])
    for asking in spec["ask"].values():
        del asking["phrases"][2:]
    stream = StringIO()
    yaml.dump(spec, stream)
    _, _, text = stream.getvalue().partition("\n")  # without the line for editors
    return text


def _part(name: str, part: JsonObject) -> str:
    about = " ".join(part.get("description", "").split())
    required = part.get("required", [])
    lines = [f"{name}: {about}"]
    for key, its in part.get("properties", {}).items():
        more = "required" if key in required else _default(its)
        meaning = " ".join(its.get("description", "").split())
        lines.append(f"  {key} ({_kind(its)}; {more}){f': {meaning}' if meaning else ''}")
    return "\n".join(lines)


def _default(schema: JsonObject) -> str:
    default = schema.get("default")
    return "may be absent" if default in (None, "", [], {}, ()) else f"{default!r} if absent"


def _kind(schema: JsonObject) -> str:
    """A type in words: `list of Step`, `map to Column`, `one of a, b`."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"] if each.get("type") != "null"))
    if schema.get("type") == "array":
        pair = schema.get("prefixItems")
        return f"pair of ({_kind(pair[0])})" if pair else f"list of ({_kind(schema['items'])})"
    if schema.get("type") == "object":
        return f"map to ({_kind(_values(schema))})"
    return _word(schema)


def _word(schema: JsonObject) -> str:
    if schema.get("format") == "cel":
        return "expression"
    pattern = schema.get("pattern", "")
    if pattern.startswith(NAME_PATTERN):
        return "name"
    return _WORDS.get(schema.get("type", ""), "anything") + (f" like {pattern}" if pattern else "")


def _values(schema: JsonObject) -> Any:
    patterns = schema.get("patternProperties", {})
    return next(iter(patterns.values()), schema.get("additionalProperties", {}))
