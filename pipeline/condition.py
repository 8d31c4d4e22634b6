"""What a value must be, as written in params: a bare value, a comparison such as "<=100", or a mapping of demands.

Compared are JSON values, so true is not 1 but 1 is 1.0. Regular expressions run in the `regex` module, whose matching
can be ended by a time limit: a pattern that backtracks for ever leaves a grade null, not a run without an end.
"""

from collections.abc import Iterator
from operator import ge, gt, le, lt
from typing import Annotated, Any, Literal

import regex
from pydantic import AfterValidator, BeforeValidator, model_validator

from pipeline.errors import GraderFault
from pipeline.section import Section

MISSING = object()
"""Stands where a path leads nowhere."""

SECONDS = 0.2
"""Limit of one match, of processor time. Only a hostile pattern comes near it."""
LONGEST_TEXT = 20_000
"""Characters of a text that are searched; what follows is not looked at."""
LONGEST_PATTERN = 1_000

_COMPARISON = regex.compile(r"(<=|>=|<|>|!=)\s*(-?\d+(?:\.\d+)?)")
_COMPARED = {"<=": "at_most", ">=": "at_least", "<": "below", ">": "above"}
_PART = regex.compile(r'"([^"]+)"|([^."]+)')


def compiled(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """The pattern, ready for `matches`. Raises ValueError when it is too long or not a regular expression."""
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"a pattern of {len(pattern)} characters; at most {LONGEST_PATTERN} are allowed")
    try:
        return regex.compile(pattern, flags)
    except regex.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error


def matches(pattern: regex.Pattern[str], text: str, *, whole: bool = False) -> bool:
    """Whether the pattern is found in `text`, or fits the whole of it. Raises GraderFault when that takes too long."""
    look = pattern.fullmatch if whole else pattern.search
    try:
        return look(text[:LONGEST_TEXT], timeout=SECONDS) is not None
    except TimeoutError as error:
        raise GraderFault(f"{pattern.pattern!r} found no end within {SECONDS:g} s") from error


def path_parts(path: str) -> tuple[str, ...]:
    """`orders.*."a.b"` as ("orders", "*", "a.b"). Raises ValueError for a malformed path."""
    found = list(_PART.finditer(path))
    if not found or ".".join(part.group() for part in found) != path:
        raise ValueError(f"{path!r} is not a path; write names with dots between them, names that hold dots in quotes")
    return tuple(part.group(1) or part.group(2) for part in found)


def _checked_path(path: str) -> str:
    path_parts(path)
    return path


def _checked_pattern(pattern: str) -> str:
    compiled(pattern)
    return pattern


Path = Annotated[str, AfterValidator(_checked_path)]
Pattern = Annotated[str, AfterValidator(_checked_pattern)]


class Condition(Section):
    """Demands on one value; all that are given must hold. `equals` in params becomes a list of one in `one_of`."""

    one_of: tuple[Any, ...] | None = None
    none_of: tuple[Any, ...] | None = None
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    contains: Any = None
    """A part of a text, or a member of a list."""
    regex: Pattern | None = None
    absent: bool | None = None
    """true: there must be nothing; false: there must be something, whatever it is."""
    same_as: Literal["golden", "initial"] | None = None
    """Equal to what stands at the same place in that state of the task."""

    @model_validator(mode="after")
    def _something(self) -> "Condition":
        if all(getattr(self, name) is None for name in type(self).model_fields):
            raise ValueError("an empty condition; write a value, or demands such as {at_most: 100}")
        return self

    def fault(self, found: object, reference: object = MISSING) -> str | None:
        """What is wrong with `found`, None when nothing is. `reference` is the value that `same_as` means.

        Raises GraderFault when a pattern takes too long.
        """
        if self.same_as is not None:
            return None if same(found, reference) else f"is {_shown(found)}, {self.same_as} is {_shown(reference)}"
        if found is MISSING or self.absent:
            return None if (found is MISSING) == bool(self.absent) else f"is {_shown(found)}"
        return next((f"is {_shown(found)}, {demand}" for demand in self._unmet(found)), None)

    def _unmet(self, found: object) -> Iterator[str]:
        if self.one_of is not None and not any(same(found, each) for each in self.one_of):
            yield f"should be {' or '.join(_shown(each) for each in self.one_of)}"
        if self.none_of is not None and any(same(found, each) for each in self.none_of):
            yield "should be something else"
        yield from self._uncompared(found)
        if self.contains is not None and not _holds(found, self.contains):
            yield f"should contain {_shown(self.contains)}"
        if self.regex is not None and not (isinstance(found, str) and matches(compiled(self.regex), found)):
            yield f"should match {self.regex!r}"

    def _uncompared(self, found: object) -> Iterator[str]:
        number = found if isinstance(found, int | float) and not isinstance(found, bool) else None
        for sign, limit, holds in (
            (">=", self.at_least, ge), ("<=", self.at_most, le), (">", self.above, gt), ("<", self.below, lt),
        ):  # fmt: skip
            if limit is not None and (number is None or not holds(number, limit)):
                yield f"should be {sign} {limit:g}"


def read_condition(written: object) -> object:
    """What params hold, in the form of a Condition: a bare value must be equalled."""
    if isinstance(written, Condition):
        return written
    if isinstance(written, str) and (compared := _COMPARISON.fullmatch(written)):
        sign, number = compared.groups()
        return {"none_of": [float(number)]} if sign == "!=" else {_COMPARED[sign]: float(number)}
    if not isinstance(written, dict):
        return {"one_of": [written]}
    if "equals" in written:
        rest = {key: value for key, value in written.items() if key != "equals"}
        return rest | {"one_of": [written["equals"]]}
    return written


Wanted = Annotated[Condition, BeforeValidator(read_condition)]
"""A condition as params write it."""


def same(one: object, other: object) -> bool:
    """Equality of JSON values: like Python's, but true and false are no numbers."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def places(parts: tuple[str, ...], value: object, reference: object = MISSING) -> Iterator[tuple[str, object, object]]:
    """Every place that a path means: its own path, the value there, and that of `reference`; MISSING where nothing is.

    A star stands for all keys or positions, those that only `reference` has included.
    """
    yield from _places(parts, "", value, reference)


def _places(
    parts: tuple[str, ...], here: str, value: object, reference: object
) -> Iterator[tuple[str, object, object]]:
    if not parts:
        yield here, value, reference
        return
    keys = (
        [*_keys(value), *(key for key in _keys(reference) if key not in _keys(value))] if parts[0] == "*" else parts[:1]
    )
    for key in keys:
        yield from _places(parts[1:], f"{here}.{key}" if here else key, _at(value, key), _at(reference, key))


def _keys(value: object) -> list[str]:
    if isinstance(value, dict):
        return sorted(value)
    return [str(number) for number in range(len(value))] if isinstance(value, list | tuple) else []


def _at(value: object, key: str) -> object:
    if isinstance(value, dict):
        return value.get(key, MISSING)
    if isinstance(value, list | tuple) and key.isdecimal() and int(key) < len(value):
        return value[int(key)]
    return MISSING


def _holds(found: object, part: object) -> bool:
    if isinstance(found, str):
        return isinstance(part, str) and part in found
    return isinstance(found, list | tuple) and any(same(each, part) for each in found)


def _shown(value: object) -> str:
    text = "missing" if value is MISSING else repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
