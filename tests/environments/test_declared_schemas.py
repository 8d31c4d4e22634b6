"""A declared environment's tool schemas are, to the last key, what plain TRL makes of its methods."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers.utils import get_json_schema

from pipeline.environments.declared import SHIPPED, load_environment
from pipeline.environments.declared.methods import tool_method, tool_schema
from pipeline.environments.declared.spec import Tool
from pipeline.environments.tools import tool_schemas

ODD = Tool.model_validate(
    {
        "about": "Do\n  odd things: (a) these,\n\tNote: and those.",
        "parameters": {
            "how_much": {"about": "Amount: in\neuro.", "type": "float"},
            "pieces": {"about": "How many (at most 3)", "type": "int"},
            "sure": {"about": "«yes» or no", "type": "bool"},
            "kind": {"about": "Kind of it.", "enum": ["b", "a", "a:b"]},
            "only": {"about": "One kind.", "enum": ["x"]},
        },
        "returns": "'x'",
        "returns_about": "Text.",
    }
)


def said_by_trl(method: Callable[..., str]) -> str:
    """The schema that TRL makes, as text, without what a method returns: no chat template reads that."""
    schema = get_json_schema(method)
    schema["function"].pop("return")
    return json.dumps(schema)


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_schemas_are_those_that_plain_trl_makes(path: Path) -> None:
    environment = load_environment(path)
    own = [json.dumps(schema) for schema in tool_schemas(environment)]
    assert own == [said_by_trl(method) for method in environment._tools()]


def test_every_kind_of_parameter_is_as_in_plain_trl() -> None:
    assert json.dumps(tool_schema("odd", ODD)) == said_by_trl(tool_method("odd", ODD))


def test_a_tool_without_parameters_is_as_in_plain_trl() -> None:
    bare = ODD.model_copy(update={"parameters": {}})
    assert json.dumps(tool_schema("bare", bare)) == said_by_trl(tool_method("bare", bare))
