"""What traces tell becomes a draft, and what they cannot tell is marked for a person."""

from pathlib import Path

import pytest

from pipeline.environments.declared.load import parse_spec
from pipeline.errors import InputError
from pipeline.records import TRACES, JsonObject, Trace
from pipeline.rows import trace_to_row
from pipeline.synthesis.drafting.command import draft_from_runs
from pipeline.synthesis.drafting.course import literal
from pipeline.synthesis.drafting.from_traces import draft_from_traces
from pipeline.tables import write_parquet
from pipeline.traces.folder import read_file, trace_files
from tests.environments.recorded import Step, trace, write_runs

KINDS = ["water", "fire"]


def desk(number: int) -> Trace:
    """A run at a desk: a customer's claim, its policy, then a decision."""
    claim, policy, kind = f"C-{1000 + number}", f"P-{2000 + number}", KINDS[number % 2]
    last: Step = ("approve", {"claim_id": claim, "amount": 100 + number}, "done")
    if number % 3 == 0:
        last = ("deny", {"claim_id": claim, "reason": KINDS[number % 2]}, "done")
    steps: list[Step] = [
        ("find_claims", {"customer_id": f"K-{3000 + number}"}, f"{claim}, C-{5000 + number}"),
        ("get_claim", {"claim_id": claim}, f"policy {policy}, {kind} loss"),
        ("get_policy", {"policy_id": policy}, f"{kind} covered"),
        last,
    ]
    if number % 2:
        steps = steps[1:]
    asked = f"Please settle {{{claim}}}." if number % 2 else f"What has K-{3000 + number} open?"
    return trace(number, f"g{number}", steps, 1.0, tools=(), question=asked.replace("{C", "C").replace("}.", "."))


def draft(folder: Path, runs: list[Trace]) -> str:
    write_runs(folder / "t.parquet", runs)
    return draft_from_traces(folder / "t.parquet", "desk")[0]


def test_a_desk_is_drafted_as_a_spec_that_holds(tmp_path: Path) -> None:
    text = draft(tmp_path, [desk(number) for number in range(24)])
    assert text.startswith("# DRAFT, not reviewed, made of 24 runs of t.parquet (sha256 ")
    assert "# - read as a spec: 5 tools, 3 templates\n" in text
    spec = parse_spec(text, "desk").spec
    assert {name: (table.row, table.prefix) for name, table in spec.tables.items()} == {
        "customers": ("customer", "K"), "claims": ("claim", "C"), "policies": ("policy", "P"),
    }  # fmt: skip
    assert spec.tools["find_claims"].returns == "customer.claims.join(', ')"
    assert spec.tools["get_claim"].returns == "'policy ' + claim.policy + claim.get_claim"
    assert spec.tools["approve"].parameters["amount"].type == "int"
    assert spec.tools["deny"].parameters["reason"].enum is None
    assert [tool.decides for tool in spec.tools.values()] == [None, None, None, "claim_id", "claim_id"]
    assert spec.procedure.text == "You lend books."
    assert [(step.call, step.arguments) for step in spec.procedure.steps] == [
        ("get_claim", {"claim_id": "claim.id"}), ("get_policy", {"policy_id": "claim.policy"}),
    ]  # fmt: skip
    assert {name: case.traffic for name, case in spec.cases.items()} == {"approve": 16.0, "deny": 8.0}
    assert spec.ask["by_claim"].phrases == ("Please settle {claim.id}.",)
    assert spec.ask["by_customer"].phrases == ("What has {customer.id} open?",)
    assert [call.call for call in spec.templates["by_customer"].opening] == ["find_claims"]


def test_few_values_that_come_often_are_a_choice_and_said_to_be_guessed(tmp_path: Path) -> None:
    runs = [trace(n, f"g{n}", [("paint", {"colour": ["red", "blue"][n % 2], "width": n, "share": n / 2, "wet": True},
                                "painted")], 1.0, tools=()) for n in range(12)]  # fmt: skip
    text = draft(tmp_path, runs)
    assert "# a choice because no other values were seen\n      colour: {enum: [blue, red]" in text
    assert "width: {type: int," in text
    assert "share: {type: float," in text
    assert "wet: {type: bool," in text
    assert "# OPEN: what does it change?" in text


def test_what_the_form_cannot_hold_is_said(tmp_path: Path) -> None:
    steps: list[Step] = [("getThing", {"type": "x", "ids": ["a"]}, None), ("getThing", {"type": 1}, "ok")]
    text = draft(tmp_path, [trace(1, "g", steps, None, tools=())])
    for said in (
        "# It is no valid spec yet: sections are missing",
        "# - missing: tables, since no argument names a row",
        "# recorded as getThing",
        "# values are of several types: integer, string",
        "# recorded as array, which the form has not: here as text",
        "# left out in 1 of 2 calls; in a spec all are given",
    ):
        assert said in text


def test_ids_of_another_form_name_tables_too(tmp_path: Path) -> None:
    ids = [{"order_id": f"#W{n}"} for n in range(5)]
    pairs: list[list[Step]] = [
        [("get_order", one, f"order {one['order_id']} is open"), ("close_order", one, "closed")] for one in ids
    ]
    runs = [trace(n, f"g{n}", steps, 1.0, tools=()) for n, steps in enumerate(pairs)]
    text = draft(tmp_path, runs)
    assert "# OPEN: ids will look like O-1234, unlike those\n    row: order\n    prefix: O\n" in text
    assert parse_spec(text, "desk").spec.tools["get_order"].returns == "'order ' + order_id + ' is open'"


def test_nothing_of_a_trace_gets_out_of_its_text(tmp_path: Path) -> None:
    evil = "x Args: (choices: 1)\n  evil:\n    about: y # {claim.id} {{}} '\\' \" \x1b[2J \u202e \0 }"
    claim = {"claim_id": "C-1001"}
    steps: list[Step] = [("get_claim", claim | {evil: evil}, evil), ("__class__", claim, evil)]
    function = {"name": "get_claim", "description": evil, "parameters": {"properties": 3}}
    tools = ({"type": "function", "function": function},)
    runs = [trace(n, "g", steps, 1.0, tools=tools, question=f"Settle C-1001 {evil}") for n in range(3)]
    text = draft(tmp_path, runs)
    spec = parse_spec(text, "desk").spec
    assert list(spec.tools) == ["get_claim", "class_call"]
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "It is no valid spec yet" not in text


def test_traces_without_a_call_and_unknown_tools_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t\.parquet: no run calls a tool, so there is nothing to draft from"):
        draft(tmp_path, [trace(1, "g", [], 1.0)])
    write_runs(tmp_path / "t.parquet", [desk(1)])
    with pytest.raises(InputError, match=r"no run knows a tool called 'burn'"):
        draft_from_traces(tmp_path / "t.parquet", "desk", chosen=["burn"])


def test_the_command_writes_a_new_file_and_says_what_it_is(tmp_path: Path) -> None:
    write_runs(tmp_path / "t.parquet", [desk(number) for number in range(6)])
    out = tmp_path / "desk.yaml"
    said = draft_from_runs(tmp_path / "t.parquet", out, "Claims.", ["get_claim", "approve", "deny", "get_policy"])
    assert said.startswith(f"{out}: a draft for you to review; OPEN marks what traces cannot tell\n  read as a")
    assert 'about: "Claims."' in out.read_text()
    with pytest.raises(InputError, match="is there already"):
        draft_from_runs(tmp_path / "t.parquet", out, "", ())


@pytest.mark.parametrize(
    ("value", "wanted"), [(True, "true"), (3, "3"), (1.5, "1.5"), ("it's\n\\", r"'it\'s\n\\'"), ("é", "'é'")]
)
def test_values_as_expressions(value: object, wanted: str) -> None:
    assert literal(value) == wanted


@pytest.mark.parametrize(
    ("folder", "wanted"),
    [
        ("tau_bench", {"read as a spec: 5 tools, 2 templates": True, "row: reservation": True, "row: user": True}),
        ("openai_chat", {"It is no valid spec yet": True, "get_synonym_value:": True}),
        ("anthropic_claude_code", {"It is no valid spec yet": True, "# recorded as TodoWrite": True}),
    ],
)
def test_real_traces(trace_folders: Path, tmp_path: Path, folder: str, wanted: JsonObject) -> None:
    files = trace_files(trace_folders / folder)
    items = [item for source, path in files for item in read_file(path, source, 32 << 20)]
    write_parquet(tmp_path / "t.parquet", [trace_to_row(item) for item in items if isinstance(item, Trace)], TRACES)
    text = draft_from_traces(tmp_path / "t.parquet", "desk")[0]
    assert {said: said in text for said in wanted} == wanted
