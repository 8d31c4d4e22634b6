"""Bytes of one record to JSON values: orjson first, and a second look at what it refuses.

Real traces hold lone surrogates (kept as U+FFFD) and Python's NaN and Infinity (kept as null, their paths returned);
everything else that is not JSON raises a TraceError that says what it is.
"""

import json
import math
import re
from typing import Any, NamedTuple

import orjson

from pipeline.errors import TraceError
from pipeline.traces.reasons import Reason

PLACEHOLDER = re.compile(rb"\s*<[^<>\n]{1,200}>\s*")
"""A line that stands for data kept elsewhere."""
_LONG = 4 << 20
_MOST_WEIGHT = 512 << 20
"""Bytes that the objects and lists of a long record may take in memory; more where the record itself is very long."""
MOST_PATHS = 1 << 20
"""Characters of the paths of NaN and Infinity in one record; with more it is refused."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class Repairs(NamedTuple):
    """What was replaced in one record."""

    surrogates: int = 0
    """Texts with lone surrogates, now U+FFFD."""
    not_finite: tuple[str, ...] = ()
    """Paths of NaN and Infinity, now null."""


NO_REPAIRS = Repairs()


def decode(data: bytes) -> tuple[Any, Repairs]:
    """Parse one JSON value. Raises TraceError."""
    if len(data) > _LONG:
        _check_weight(data, 1)
    try:
        return orjson.loads(data), NO_REPAIRS
    except orjson.JSONDecodeError as error:
        return _second_look(data, error)


def encode(value: Any, field: str | None = None) -> str:
    """JSON text of a value that was read. Raises TraceError when it cannot be stored."""
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise unstorable(error, field) from error


def unstorable(error: TypeError, field: str | None) -> TraceError:
    """Why orjson refuses to write what it could read."""
    return TraceError(Reason.TOO_DEEP, f"cannot be stored: {error}", field)


def _second_look(data: bytes, error: orjson.JSONDecodeError) -> tuple[Any, Repairs]:
    if "depth limit" in str(error):
        raise TraceError(Reason.TOO_DEEP, "nested more than 1024 levels deep") from error
    if PLACEHOLDER.fullmatch(data):
        raise TraceError(Reason.PLACEHOLDER, f"a placeholder, not a record: {_seen(data)}") from error
    if len(data) > _LONG:
        _check_weight(data, 2)  # the value and its mended copy
    try:
        return _mend(json.loads(data.decode("utf-8", "surrogatepass")))
    except TraceError:
        raise
    except UnicodeDecodeError as fault:
        raise TraceError(Reason.INVALID_UTF8, f"not UTF-8: byte {data[fault.start]:#04x} at {fault.start}") from fault
    except RecursionError as fault:
        raise TraceError(Reason.TOO_DEEP, "nested too deeply to be read") from fault
    except ValueError as fault:
        raise TraceError(Reason.INVALID_JSON, f"not JSON ({error}): {_seen(data)}") from fault


def _check_weight(data: bytes, copies: int) -> None:
    """Raise a TraceError where a text would take far more memory as values: an empty list has two bytes, or 90."""
    objects, arrays = data.count(b"{"), data.count(b"[")
    if copies * (300 * objects + 130 * arrays) > max(_MOST_WEIGHT, 8 * len(data)):
        text = f"{objects + arrays} objects and lists in {len(data)} bytes are more than memory should hold"
        raise TraceError(Reason.LINE_TOO_LONG, f"{text}; split the record")


def _seen(data: bytes) -> str:
    return repr(data[:60].decode("utf-8", "replace"))


def _mend(value: Any) -> tuple[Any, Repairs]:
    surrogates = 0
    faults = _NotFinite()

    def text(found: str) -> str:
        nonlocal surrogates
        if _SURROGATE.search(found) is None:
            return found
        surrogates += 1
        # Through UTF-16, so that a pair that was written by halves becomes the character that it means.
        return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def walk(found: Any) -> Any:
        if isinstance(found, str):
            return text(found)
        if isinstance(found, int) and not -(2**63) <= found < 2**64:
            found = float(str(found))  # as orjson reads it; text, because float() of a huge integer raises
        if isinstance(found, float) and not math.isfinite(found):
            faults.note()
            return None
        if isinstance(found, list):
            return [inside(index, each) for index, each in enumerate(found)]
        if isinstance(found, dict):
            return {(name := text(key)): inside(name, each) for key, each in found.items()}
        return found

    def inside(step: str | int, found: Any) -> Any:
        faults.trail.append(step)
        mended = walk(found)
        faults.trail.pop()
        return mended

    return walk(value), Repairs(surrogates, tuple(faults.paths))


class _NotFinite:
    """Paths of NaN and Infinity, made only where one is, and no more than `MOST_PATHS` characters of them."""

    def __init__(self) -> None:
        self.trail: list[str | int] = []
        """Keys and indices on the way to the value at hand."""
        self.paths: list[str] = []
        self._size = 0

    def note(self) -> None:
        """Keep the path of the value at hand. Raises TraceError when there are too many."""
        path = "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in self.trail).lstrip(".")
        self.paths.append(path)
        self._size += len(path)
        if self._size > MOST_PATHS:
            raise TraceError(Reason.NOT_FINITE, f"NaN or Infinity in {len(self.paths)} places or more", path[:80])
