"""docs/traces.md names every format and every reason of quarantine, and no other."""

import re

from pipeline.traces import FORMATS
from pipeline.traces.reasons import Reason
from tests.conftest import ROOT


def first_cells(heading: str) -> list[str]:
    """The names in the first column of the table under a heading."""
    section = (ROOT / "docs/traces.md").read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([a-z_0-9]+)` \|", section, flags=re.MULTILINE)


def test_every_reason_is_documented() -> None:
    assert first_cells("Reasons of quarantine") == [reason.value for reason in Reason]


def test_every_format_is_documented() -> None:
    assert sorted(first_cells("Formats")) == sorted(FORMATS)
