"""Specs that are wrong or meant to do harm are refused when they are loaded, with the line and column of the fault."""

import random
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from pipeline.environments.declared import SHIPPED, load_environment, reading
from pipeline.environments.declared.environment import make_class
from pipeline.environments.declared.load import parse_spec
from pipeline.environments.declared.names import check_tool_name
from pipeline.environments.declared.reading import MAX_BYTES, read_document
from pipeline.environments.declared.schema import schema_text, spec_schema
from pipeline.environments.worlds import make_world
from pipeline.errors import SpecError
from pipeline.synthesis.tasks import task_from
from tests.environments.broken import ALL, DRAWING
from tests.environments.desk import DESK, spoiled


@pytest.mark.parametrize(("old", "new", "said"), ALL, ids=lambda text: text[:30])
def test_a_fault_is_refused_where_it_stands(old: str, new: str, said: str) -> None:
    text, place = spoiled(old, new)
    with pytest.raises(SpecError, match=said) as raised:
        parse_spec(text, "desk.yaml")
    assert re.match(r"desk\.yaml:\d+:\d+: ", str(raised.value))
    if "§" in new:
        assert str(raised.value).startswith(f"desk.yaml:{place}: ")
    assert len(str(raised.value)) < 1500


def test_the_desk_that_is_spoiled_is_sound() -> None:
    assert parse_spec(DESK, "desk.yaml").spec.name == "desk"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("[1, 2]", ":1:1: a spec is a mapping"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", ":1:4: anchors and aliases are not allowed"),
        ("[" * 2000, ":1:25: nested deeper than 24"),
        ("{a: " * 2000, ":1:97: nested deeper than 24"),
        ("a: " + "x" * MAX_BYTES, "longer than 256 KB"),
        ("a" * 100_000 + ": 1", "unknown key|mapping values are not allowed"),
        ("a:\n\tb: 1\n", ":2:1: not valid YAML: a tab cannot indent a line; use spaces"),
        ("!" * 100_000, "tags are not allowed|not valid YAML"),
    ],
    ids=lambda text: text[:20],
)
def test_bombs_are_refused_before_they_are_built(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said) as raised:
        parse_spec(text, "bomb.yaml")
    assert len(str(raised.value)) < 1500


def test_the_number_of_values_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_VALUES", 50)
    with pytest.raises(SpecError, match=r"bomb\.yaml:1:10[0-9]: more than 50 values in the file"):
        parse_spec("a: [" + "1," * 50 + "]", "bomb.yaml")


def test_files_that_hold_no_text(tmp_path: Path) -> None:
    path = tmp_path / "desk.yaml"
    path.write_bytes(b"name: desk\nabout: caf\xe9\n")
    with pytest.raises(SpecError, match=r"desk\.yaml:2:11: not UTF-8 text"):
        load_environment(path)
    with pytest.raises(SpecError, match="longer than 256 KB"):
        load_environment(Path("/dev/zero"))
    with pytest.raises(SpecError, match="cannot be read: Is a directory"):
        load_environment(tmp_path)
    with pytest.raises(SpecError, match=r"nowhere\.yaml: no such file"):
        load_environment(tmp_path / "nowhere.yaml")


def test_several_faults_are_told_at_once() -> None:
    text = (
        DESK.replace("limit: 5", "limit: 5\nabout2: x")
        .replace("row: sender", "row: __a__")
        .replace("int, about", "x, about")
    )
    with pytest.raises(SpecError) as raised:
        parse_spec(text, "desk.yaml")
    lines = str(raised.value).splitlines()
    assert len(lines) == 3
    assert all(line.startswith("desk.yaml:") for line in lines)


def test_a_fault_of_a_whole_mapping_does_not_end_in_its_kind() -> None:
    with pytest.raises(SpecError, match=r"two ways|say one of one_of, .*; found one_of, value$"):
        parse_spec(DESK.replace("draw: {one_of: kinds}", "draw: {one_of: kinds, value: kinds}"), "desk.yaml")


def test_bools_and_numbers_are_expressions() -> None:
    text = DESK.replace('when: "true"', "when: true").replace("fee: parcel.weight * 2", "fee: 4")
    [_, light] = parse_spec(text, "desk.yaml").steps[0].rules
    assert (light.when.text, light.arguments["fee"].text) == ("true", "4")


def test_no_tool_can_take_the_place_of_what_every_environment_has(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(DESK)
    environment = load_environment(tmp_path / "desk.yaml")()
    tools = {"weigh", "send", "refuse"}
    for name in {name for name in dir(environment) if not name.startswith("_")} - tools:
        with pytest.raises(ValueError, match="part of every environment's interface"):
            check_tool_name(name)


def test_every_value_has_its_place() -> None:
    document = read_document(DESK, "desk.yaml")
    assert document.place(("tables", "parcels", "columns", "weight", "draw", "between", 0)) == "desk.yaml:20:44"
    assert document.place(("tables", "parcels", "let"), key=True) == "desk.yaml:24:5"
    assert document.place(("tables", "nothing")) == "desk.yaml:9:3"


def draw_some(text: str) -> None:
    world = make_world("desk", make_class(parse_spec(text, "desk.yaml")))
    for number in range(20):
        task_from(world, random.Random(number), "whole", "train", 0)


@pytest.mark.parametrize(("old", "new", "said"), DRAWING, ids=lambda text: text[:30])
def test_what_only_drawing_can_show_is_refused_then(old: str, new: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        draw_some(spoiled(old, new)[0])


def test_the_committed_schema_is_the_one_that_the_command_prints() -> None:
    committed = (SHIPPED / "spec.schema.json").read_text()
    assert committed == schema_text(), (
        "write it anew: python -m pipeline env schema > pipeline/environments/specs/spec.schema.json"
    )


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_specs_fit_the_schema_and_name_it(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("# yaml-language-server: $schema=spec.schema.json\n")
    Draft202012Validator(spec_schema()).validate(read_document(text, str(path)).data)


@pytest.mark.parametrize(
    ("old", "new"), [("about: A desk", "abuot: A desk"), ("row: sender", "row: __a__"), ("limit: 5", "limit: null")]
)
def test_the_schema_finds_slips_too(old: str, new: str) -> None:
    assert not Draft202012Validator(spec_schema()).is_valid(read_document(spoiled(old, new)[0], "desk.yaml").data)
