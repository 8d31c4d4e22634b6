"""Names of other people's tools and parameters as names that a spec may use."""

import re
from collections.abc import Collection

from pydantic import TypeAdapter, ValidationError

from pipeline.environments.declared.names import Name, ToolName

LONGEST = 40
_TOOL: TypeAdapter[str] = TypeAdapter(ToolName)
_PLAIN: TypeAdapter[str] = TypeAdapter(Name)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER = re.compile(r"[^a-z0-9]+")


def snake(name: str) -> str:
    """`getPetById`, `get-pet`, `Get pet` as lower case words with underscores; may be empty."""
    return _OTHER.sub("_", _HUMP.sub("_", name).lower()).strip("_")


def tool_name(name: str, taken: Collection[str]) -> str:
    """A tool's name as a spec takes it, and none of `taken`."""
    return _free(_fitting(snake(name), _TOOL, "call"), taken)


def parameter_name(name: str, tool: str, taken: Collection[str]) -> str:
    """A parameter's name as a spec takes it, and none of `taken`; `id` is named after the tool's last word."""
    found = snake(name)
    if found in ("id", "ids"):
        found = f"{tool.rpartition('_')[2]}_{found}"
    return _free(_fitting(found, _PLAIN, "value"), taken)


def table_name(row: str) -> str:
    """A plain plural of a row's name."""
    if row.endswith("y") and row[-2:-1] not in "aeiou":
        return f"{row[:-1]}ies"
    return f"{row}es" if row.endswith(("s", "x", "z", "ch", "sh")) else f"{row}s"


def fitting_name(name: str) -> str:
    """A name of a table, row or column that a spec takes."""
    return _fitting(snake(name), _PLAIN, "value")


def fits(name: str) -> bool:
    """Whether a spec may call a table, column or constant so."""
    return _valid(name, _PLAIN)


def _fitting(name: str, kind: TypeAdapter[str], suffix: str) -> str:
    name = name[:LONGEST].strip("_") or suffix
    if not name[0].isalpha():
        name = f"{suffix}_{name}"[:LONGEST].rstrip("_")
    return name if _valid(name, kind) else f"{name[: LONGEST - len(suffix) - 1]}_{suffix}"


def _free(name: str, taken: Collection[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name[: LONGEST - len(str(number)) - 1]}_{number}"
    return found


def _valid(name: str, kind: TypeAdapter[str]) -> bool:
    try:
        kind.validate_python(name)
    except ValidationError:
        return False
    return True
