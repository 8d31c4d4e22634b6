"""Schemas from outside: a reference to elsewhere is never opened, and is the environment's fault."""

from pathlib import Path

import pytest

from pipeline.environments import Environment
from pipeline.environments.tools import EnvironmentFault, call_tool
from pipeline.records import JsonObject, ToolCall


def environment(reference: str) -> Environment:
    """One whose only tool has a parameter of the type that `reference` leads to."""
    parameters: JsonObject = {"type": "object", "properties": {"x": {"$ref": reference}}}
    given = ({"type": "function", "function": {"name": "look", "description": "", "parameters": parameters}},)
    made: type[Environment] = type("Given", (Environment,), {"schemas": given})
    return made()


def test_no_reference_of_a_schema_is_opened(tmp_path: Path) -> None:
    inside = tmp_path / "inside.json"
    inside.write_text('{"type": "string"}')
    call = ToolCall("c", "look", {"x": "y"}, "")
    for reference in (inside.as_uri(), "http://127.0.0.1:9/schema", "urn:nothing"):
        with pytest.raises(EnvironmentFault, match="look: its schema refers to what is not in it"):
            call_tool(environment(reference), call)
