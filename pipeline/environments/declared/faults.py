"""What pydantic finds wrong with a spec, as lines that name the place and the way out."""

import difflib
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pipeline.environments.declared.reading import Document, Path
from pipeline.environments.declared.spec import Spec

_SHOWN = 5
"""Faults that one message names."""
_WANTED = {
    "string_type": "text", "int_type": "a whole number", "int_parsing": "a whole number", "bool_type": "true or false",
    "int_from_float": "a whole number", "bool_parsing": "true or false", "float_type": "a number",
    "float_parsing": "a number", "tuple_type": "a list", "dict_type": "a mapping", "model_type": "a mapping",
}  # fmt: skip

_KINDS: dict[type, str] = {list: "a list", tuple: "a list", dict: "a mapping"}


def explain(document: Document, error: ValidationError) -> str:
    """The faults that `error` lists, one a line; of those about one value and what is in it, the innermost."""
    groups: dict[Path, list[ErrorDetails]] = {}
    for fault in error.errors():
        groups.setdefault(_path(document, fault), []).append(fault)
    kept = [path for path in groups if not any(other[: len(path)] == path and other != path for other in groups)]
    kept.sort(key=lambda path: groups[path][0]["type"] == "missing")  # a misspelt key before the one that it was to be
    said = [_line(document, path, groups[path]) for path in kept[:_SHOWN]]
    more = len(kept) - len(said)
    return "\n".join([*said, *([f"and {more} more"] if more else [])])


def _path(document: Document, fault: ErrorDetails) -> Path:
    """Path of the value: pydantic's own, less the names of the shapes that it tried."""
    path: Path = ()
    for part in fault["loc"]:
        here = (*path, part)
        if here in document.places or (fault["type"] == "missing" and part == fault["loc"][-1]):
            path = here
    return path


def _line(document: Document, path: Path, faults: list[ErrorDetails]) -> str:
    fault = faults[0]
    if fault["type"] == "extra_forbidden":
        return str(document.fault(path, f"unknown key; {_hint(path)}", key=True))
    if fault["type"] == "missing":
        return str(document.fault(path, "is missing; add it"))
    if fault["loc"][-1] == "[key]":
        return str(document.fault(path, _message(fault), key=True))
    wanted = list(dict.fromkeys(_WANTED[each["type"]] for each in faults if each["type"] in _WANTED))
    if wanted and len(faults) == sum(each["type"] in _WANTED for each in faults):
        return str(document.fault(path, f"must be {' or '.join(wanted)}{_found(fault)}"))
    other = next(each for each in faults if each["type"] not in _WANTED)
    whole = other["type"] == "value_error" and isinstance(other["input"], dict | list | tuple)
    return str(document.fault(path, _message(other) + ("" if whole else _found(other))))


def _message(fault: ErrorDetails) -> str:
    if str(fault.get("ctx", {}).get("pattern", "")).startswith("^[a-z]"):
        return "a name is made of lower case letters, digits and _, a letter first"
    if fault["type"] in ("too_short", "too_long"):
        least, most = fault["ctx"].get("min_length"), fault["ctx"].get("max_length")
        bound = f"at least {least}" if most is None else f"at most {most}"
        return f"must have {bound} {'item' if bound.endswith(' 1') else 'items'}"
    said = fault["msg"].removeprefix("Value error, ")
    return said.replace("Input should", "must").replace("String should", "must")


def _found(fault: ErrorDetails) -> str:
    given = fault["input"]
    shown = repr(given) if isinstance(given, str | int | float) else _KINDS.get(type(given), "nothing")
    return f", found {shown if len(shown) <= 60 else shown[:57] + '...'}"


def _hint(path: Path) -> str:
    shape: Any = Spec
    for part in path[:-1]:
        shape = _inside(shape, part)
    known = list(shape.model_fields) if _is_model(shape) else []
    close = difflib.get_close_matches(str(path[-1]), known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"here may stand {', '.join(known)}"


def _inside(shape: Any, part: int | str) -> Any:
    """What a field's annotation says about its element `part`: a model where there is one."""
    if _is_model(shape):
        field = shape.model_fields.get(str(part))
        return _bare(field.annotation) if field is not None else None
    arguments = get_args(shape)
    if get_origin(shape) is dict:
        return _bare(arguments[1])
    return _bare(arguments[0]) if arguments else None


def _bare(shape: Any) -> Any:
    """An annotation without its marks; of several shapes the model, else the first with parts."""
    if get_origin(shape) is Annotated:
        return _bare(get_args(shape)[0])
    if get_origin(shape) in (dict, tuple) or _is_model(shape):
        return shape
    parts = [_bare(each) for each in get_args(shape)]
    return next((each for each in parts if _is_model(each)), next((each for each in parts if get_args(each)), shape))


def _is_model(shape: Any) -> bool:
    return isinstance(shape, type) and issubclass(shape, BaseModel)
