"""docs/data.md names every column of every table, in order, and no other."""

import re

import pyarrow as pa
import pytest

from pipeline import records
from tests.conftest import ROOT

HEADING = re.compile(r"^## .*: ([A-Z_]+)$")
COLUMN = re.compile(r"^\| `([a-z_]+)` \|")
INHERITED = {"RL_TASKS": records.TASKS.names, "LEDGER": records.ROLLOUTS.names}


def documented() -> dict[str, list[str]]:
    """Columns by the schema's name."""
    tables: dict[str, list[str]] = {}
    current: list[str] = []
    for line in (ROOT / "docs/data.md").read_text().splitlines():
        if line.startswith("## "):
            heading = HEADING.match(line)
            current = tables.setdefault(heading[1], []) if heading else []
        elif column := COLUMN.match(line):
            current.append(column[1])
    return tables


def test_every_schema_is_documented() -> None:
    schemas = {name for name, value in vars(records).items() if isinstance(value, pa.Schema)}
    assert set(documented()) == schemas


@pytest.mark.parametrize("name", sorted(documented()))
def test_columns_are_those_of_the_schema(name: str) -> None:
    schema: pa.Schema = getattr(records, name)
    assert INHERITED.get(name, []) + documented()[name] == schema.names
