"""docs/judges.md shows values that params take, and names every value of an endpoint with its default."""

import re
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline.environments.users import UserScript
from pipeline.graders.config import make_panel
from pipeline.params import load_params, parse_params
from pipeline.remote.endpoint import Endpoint
from pipeline.remote.faults import Fault
from pipeline.synthesis.teacher import Reason
from tests.conftest import ROOT

TEXT = (ROOT / "docs/judges.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def committed() -> dict[str, Any]:
    """The committed params, parsed only."""
    raw: dict[str, Any] = YAML(typ="safe").load((ROOT / "params.yaml").read_text())
    return raw


@pytest.mark.parametrize("block", BLOCKS[1:])
def test_examples_are_params(block: str) -> None:
    shown = YAML(typ="safe").load(block)
    raw = committed()
    if isinstance(shown, list):
        raw["graders"] = shown
    elif "graders" in shown:
        raw["graders"] = shown["graders"]
    else:
        raw["synthesize"] |= shown["synthesize"]
    params = parse_params(raw)
    assert len(make_panel(params.graders).groups) == len(raw["graders"])
    assert params != load_params(ROOT / "params.yaml")


def test_the_table_of_the_endpoint_is_complete() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \|([^|]*)\|", TEXT.partition("Keys stay out")[0], re.MULTILINE)
    fields = Endpoint.model_fields
    assert [name for name, _ in rows] == list(fields)
    for name, cell in rows:
        shown = cell.strip(" `")
        default = fields[name].get_default(call_default_factory=True)
        if fields[name].is_required():
            assert shown == ""
        elif default is None:
            assert shown == "none"
        else:
            value = YAML(typ="safe").load(shown)
            assert (default.model_dump() if name == "budget" else default) == value


def test_every_fault_and_every_value_of_a_script_is_named() -> None:
    for word in [*Fault, *(reason for reason in Reason if reason is not Reason.KEPT), *UserScript.model_fields]:
        assert f"`{word}`" in TEXT
