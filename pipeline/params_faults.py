"""What pydantic finds wrong with params.yaml, as one line that names the key and the way out."""

import difflib
from typing import get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from pipeline.filter_params import step_model
from pipeline.judge_params import entry_model


def explain(root: type[BaseModel], where: str, fault: ErrorDetails) -> str:
    """`fault` of a document of shape `root` that lies at `where`."""
    path = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(fault["loc"][-1]), _known(root, fault["loc"][:-1]), n=1)
        return f"{where}: unknown key {path!r}" + (f"; did you mean {close[0]!r}?" if close else "; remove it")
    if fault["type"] == "missing":
        listed = any(isinstance(part, int) for part in fault["loc"])
        way = "" if listed else " or rewrite the file with `python -m pipeline preset tiny`"
        return f"{where}: key {path!r} is missing; add it{way}"
    if fault["type"].startswith("union_tag"):
        return f"{where}: {path}.kind: {_kind(fault)}"
    said = fault["msg"].removeprefix("Value error, ")
    if not path or (fault["type"] == "value_error" and isinstance(fault["input"], dict)):
        return f"{where}: {path}{': ' * bool(path)}{said}"
    # Who pastes a key into a wrong place must not see it in a log.
    found = "something else" if path.endswith(("key_env", "extra", "base_url")) else repr(fault["input"])
    if fault["type"] == "tuple_type":
        return f"{where}: {path}: must be a list, found {found}; write it in brackets, [one, two]"
    return f"{where}: {path}: {said}, found {found}"


def _kind(fault: ErrorDetails) -> str:
    """What is wrong with the key by which the entry of a list says what it is."""
    given = fault["input"].get("kind") if isinstance(fault["input"], dict) else None
    known = [tag.strip("'") for tag in str(fault.get("ctx", {}).get("expected_tags", "")).split(", ") if tag]
    if given is None:
        return "is missing; it says what this entry is, see docs/graders.md and docs/selection.md"
    close = difflib.get_close_matches(str(given), known, n=1)
    return f"{given!r} is none; " + (f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}")


def _known(root: type[BaseModel], parents: tuple[int | str, ...]) -> list[str]:
    """Keys that may stand under `parents`, where these are plain groups of values or an entry of a list of kinds."""
    model: type[BaseModel] | None = root
    if "graders" in parents[:2]:
        parents = parents[parents.index("graders") :]
        model, parents = entry_model(str(parents[2])), parents[3:]
    elif parents[:2] == ("filter", "steps"):
        model, parents = step_model(str(parents[3])), parents[4:]
    for parent in parents:
        field = model.model_fields.get(str(parent)) if model is not None else None
        shapes = get_args(field.annotation) or (field.annotation,) if field is not None else ()
        model = next((one for one in shapes if isinstance(one, type) and issubclass(one, BaseModel)), None)
    return [] if model is None else list(model.model_fields)
