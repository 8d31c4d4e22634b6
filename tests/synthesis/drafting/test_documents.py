"""Tool documentation of any dialect becomes the same list of tools; hostile files are refused."""

from pathlib import Path

import orjson
import pytest

from pipeline.errors import InputError
from pipeline.synthesis.drafting.documents import read_documentation
from pipeline.synthesis.drafting.naming import parameter_name, table_name, tool_name
from tests.synthesis.drafting.material import OPENAPI

LOAN = {"type": "object", "properties": {"loanId": {"type": "string"}}, "required": ["loanId"]}


def write(folder: Path, text: str, name: str = "tools.json") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_operations_of_openapi_are_tools(tmp_path: Path) -> None:
    found = read_documentation(write(tmp_path, OPENAPI, "openapi.yaml"))
    assert found.kind == "OpenAPI 3.0.3, Lending desk"
    assert [(tool.name, tool.about, tool.writes) for tool in found.tools] == [
        ("get_loan", "Read a loan", False),
        ("extend_loan", "Extend a loan. Only once", True),
        ("delete_loans_loan_id", "Refuse to extend", True),
    ]
    read, extend, _ = found.tools
    assert read.parameters == {"loan_id": {"type": "string", "required": True, "description": "Loan number"}}
    assert read.answer["properties"]["due"] == {"type": "string", "format": "date"}
    assert read.answer["properties"]["next"] == {}
    assert read.errors == ("404 No such loan",)
    assert list(extend.parameters) == ["loan_id", "days", "type_value"]
    assert [its["required"] for its in extend.parameters.values()] == [True, True, False]
    assert ("extendLoan.type", "extend_loan.type_value") in found.renamed


@pytest.mark.parametrize(
    "text",
    [
        [{"type": "function", "function": {"name": "getLoan", "description": "Read.", "parameters": LOAN}}],
        {"tools": [{"name": "getLoan", "description": "Read.", "input_schema": LOAN}]},
        {"jsonrpc": "2.0", "result": {"tools": [{"name": "getLoan", "description": "Read.", "inputSchema": LOAN}]}},
    ],
    ids=["openai", "anthropic", "mcp"],
)
def test_lists_of_tools_are_read_in_any_dialect(tmp_path: Path, text: object) -> None:
    found = read_documentation(write(tmp_path, orjson.dumps(text).decode()))
    assert found.text() == (
        '{"tool":"get_loan","about":"Read.","parameters":{"loan_id":{"type":"string","required":true}}}'
    )
    assert found.renamed == (("getLoan", "get_loan"), ("getLoan.loanId", "get_loan.loan_id"))


def test_hints_of_mcp_say_whether_a_tool_writes(tmp_path: Path) -> None:
    tools = [{"name": f"t{hint}", "inputSchema": LOAN, "annotations": {"readOnlyHint": hint}} for hint in (True, False)]
    found = read_documentation(write(tmp_path, orjson.dumps({"tools": tools}).decode()))
    assert [tool.writes for tool in found.tools] == [False, True]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("swagger: '2.0'\npaths: {}\n", r"OpenAPI 2\.0; only version 3 is read"),
        ("openapi: 3.1.0\n", r"paths: must be a mapping"),
        ("openapi: 3.1.0\npaths: {}\n", r"describes no tool"),
        ("openapi: 3.1.0\na: &x [1]\nb: [*x, *x]\n", r"tools\.json:3: aliases are not followed"),
        ("a: " + "[" * 70 + "]" * 70, r"nested deeper than 60"),
        ("a: !!python/object:os.system {}\n", r"not valid YAML: could not determine a constructor"),
        ("a: !!binary aGk=\n", r"holds what JSON cannot say"),
        ("a: [1\nb: 2\n", r"tools\.json:2:2: not valid YAML"),
        ('{"tools": [', r"looks like JSON, but is not valid"),
        ("[" * 5000, r"looks like JSON, but is not valid"),
        ('{"tools": {"a": 1}}', r"neither an OpenAPI 3 document .* nor a list of tools"),
        ('[{"about": "nameless"}]', r"tools\[0\]: a tool needs a name"),
        ('"text"', r"neither an OpenAPI 3 document"),
    ],
)  # fmt: skip
def test_what_is_no_documentation_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_documentation(write(tmp_path, text))


def test_a_missing_file_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.json: no such file; give an OpenAPI file"):
        read_documentation(tmp_path / "gone.json")
    with pytest.raises(InputError, match=r"mcp: no such file; save what the server answers to tools/list"):
        read_documentation(tmp_path / "mcp")


def test_many_tools_are_to_be_chosen_from(tmp_path: Path) -> None:
    path = write(tmp_path, orjson.dumps([{"name": f"t{n}", "parameters": {}} for n in range(61)]).decode())
    with pytest.raises(InputError, match=r"61 tools, but a spec has at most 60; choose with --tool NAME.*t0, t1"):
        read_documentation(path)
    assert [tool.name for tool in read_documentation(path, ["t7", "t3"]).tools] == ["t3", "t7"]
    with pytest.raises(InputError, match=r"no tool is called 'x'; there are t0"):
        read_documentation(path, ["x"])


def test_a_schema_that_branches_without_end_costs_little(tmp_path: Path) -> None:
    wide = {"type": "object", "properties": {f"p{n}": {"$ref": "#/components/schemas/B"} for n in range(40)}}
    other = {"type": "object", "properties": {f"q{n}": {"$ref": "#/components/schemas/C"} for n in range(40)}}
    third = {"type": "object", "properties": {f"r{n}": {"type": "object", "properties": {"x": {}}} for n in range(40)}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}
    document = {
        "openapi": "3.0.0", "paths": {"/a": {"post": {"requestBody": body}}},
        "components": {"schemas": {"A": wide, "B": other, "C": third}},
    }  # fmt: skip
    found = read_documentation(write(tmp_path, orjson.dumps(document).decode()))
    assert len(found.text()) < 20_000


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("getPetById", "get_pet_by_id"), ("HTTPGet", "http_get"), ("Bash", "bash"), ("reset", "reset_call"),
     ("import", "import_call"), ("2fa", "call_2fa"), ("查询", "call"), ("__class__", "class_call"),
     ("x" * 60, "x" * 40)],
)  # fmt: skip
def test_names_of_tools_fit_the_form(given: str, wanted: str) -> None:
    assert tool_name(given, ()) == wanted


def test_names_of_parameters_fit_the_form_and_differ() -> None:
    assert parameter_name("id", "get_pet", ()) == "pet_id"
    assert parameter_name("type", "get_pet", ()) == "type_value"
    assert parameter_name("petId", "get_pet", {"pet_id"}) == "pet_id_2"
    assert [table_name(row) for row in ("claim", "policy", "box", "day")] == ["claims", "policies", "boxes", "days"]
