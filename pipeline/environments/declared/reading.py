"""YAML text to plain data, with the place of every value.

Only what JSON could say is let in, plus comments: no anchors and aliases (so no bomb can be built), no tags, no
directives, no merge keys, no repeated keys; size, depth and number of values are bounded before anything is built.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from math import isfinite
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError

from pipeline.errors import SpecError

MAX_BYTES = 256 * 1024
MAX_DEPTH = 24
MAX_VALUES = 10_000
MAX_WHOLE = 2**53
"""Beyond this a whole number is not the same in every JSON reader."""

Path = tuple[int | str, ...]
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What no file or terminal can show: control characters but tabs and line ends, and halves of surrogate pairs."""
_NOT_JSON = {"timestamp": "a date", "value": "a sign of its own", "merge": "a merge key"}


@dataclass(slots=True)
class Document:
    """The data of a YAML file, and where each value and each key stands."""

    where: str
    data: Any = None
    places: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def place(self, path: Path, key: bool = False) -> str:
        """`file:line:column` of the value at `path`, or of its key; else of the nearest value around it."""
        if key and path in self.keys:
            return f"{self.where}:{self.keys[path][0]}:{self.keys[path][1]}"
        while path and path not in self.places:
            path = path[:-1]
        line, column = self.places.get(path, (1, 1))
        return f"{self.where}:{line}:{column}"

    def fault(self, path: Path, message: str, key: bool = False) -> SpecError:
        """An error that names the place and the path of a value, or of its key."""
        dotted = ".".join(f"{part!s:.60}" for part in path)
        return SpecError(f"{self.place(path, key)}: {dotted + ': ' if dotted else ''}{message}")


def read_text(path: FilePath) -> str:
    """Text of a spec file; no more than is allowed is ever read. Raises SpecError."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise SpecError(f"{path}: no such file") from error
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        raise SpecError(f"{path}:{_line_column(before)}: not UTF-8 text; save the file as UTF-8") from error


def read_document(text: str, where: str) -> Document:
    """Parse `text`; `where` names the file in messages. Raises SpecError with line and column."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise SpecError(f"{where}: longer than {MAX_BYTES // 1024} KB; a spec is written by hand, so this is none")
    document = Document(where)
    try:
        document.data = _Builder(document, text).whole()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise SpecError(f"{where}{at}: not valid YAML: {_problem(error, text)}") from error
    except ReaderError as error:
        at = _line_column(text[: error.position])
        raise SpecError(f"{where}:{at}: character {ord(text[error.position]):#06x} cannot stand in a text") from error
    except YAMLError as error:
        raise SpecError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from error
    return document


def _problem(error: MarkedYAMLError, text: str) -> str:
    if error.problem_mark is not None and text[error.problem_mark.index :].startswith("\t"):
        return "a tab cannot indent a line; use spaces"
    return str(error.problem or error.context)


class _Builder:
    """Builds data from the parser's events, refuses what JSON could not say, and notes every place."""

    def __init__(self, document: Document, text: str) -> None:
        self._document = document
        self._yaml = YAML(typ="safe")
        self._events: Iterator[Any] = iter(self._yaml.parse(text))
        self._left = MAX_VALUES

    def whole(self) -> Any:
        """Data of the only document. Raises SpecError, and what the parser raises."""
        next(self._events)  # the stream begins
        start = next(self._events)
        if isinstance(start, StreamEndEvent):
            raise SpecError(f"{self._document.where}: is empty; see docs/declared.md for what belongs in it")
        if start.version or start.tags:
            raise self._fault(start, "directives such as %YAML are not allowed; remove them")
        data = self._build(next(self._events), (), 1)
        next(self._events)  # the document ends
        after = next(self._events)
        if not isinstance(after, StreamEndEvent):
            raise self._fault(after, "a second document begins here; a spec is one")
        return data

    def _build(self, event: Any, path: Path, depth: int) -> Any:
        if isinstance(event, AliasEvent) or event.anchor:
            raise self._fault(event, "anchors and aliases are not allowed; write the value out")
        if event.ctag is not None:
            raise self._fault(event, f"tags are not allowed; remove {event.ctag!s:.60}")
        if depth > MAX_DEPTH:
            raise self._fault(event, f"nested deeper than {MAX_DEPTH}")
        self._left -= 1
        if self._left < 0:
            raise self._fault(event, f"more than {MAX_VALUES} values in the file")
        self._document.places[path] = _place(event)
        if isinstance(event, MappingStartEvent):
            return self._mapping(path, depth)
        if isinstance(event, SequenceStartEvent):
            inside = takewhile(lambda item: not isinstance(item, SequenceEndEvent), self._events)
            return [self._build(item, (*path, number), depth + 1) for number, item in enumerate(inside)]
        return self._scalar(event, path)

    def _mapping(self, path: Path, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for event in self._events:
            if isinstance(event, MappingEndEvent):
                break
            if not isinstance(event, ScalarEvent):
                raise self._fault(event, "a key must be a plain word")
            if event.anchor or event.ctag is not None:
                raise self._fault(event, "anchors and tags are not allowed; write the key alone")
            here = (*path, event.value)
            if event.value in out:
                raise self._fault(event, f"the key {event.value!r:.60} stands here twice")
            if event.value == "<<":
                raise self._fault(event, "merge keys are not allowed; write the values out")
            _check_text(self._document, path, event.value)
            self._document.keys[here] = _place(event)
            out[event.value] = self._build(next(self._events), here, depth + 1)
        return out

    def _scalar(self, event: Any, path: Path) -> Any:
        tag = str(self._yaml.resolver.resolve(ScalarNode, event.value, event.implicit))
        kind = tag.removeprefix("tag:yaml.org,2002:")
        if kind not in _SCALARS:
            what = _NOT_JSON.get(kind, kind)
            raise self._document.fault(path, f"{event.value!r:.60} reads as {what}; quote it to make it text")
        try:
            value = _SCALARS[kind](event.value)
        except (ValueError, KeyError) as error:
            message = f"{event.value[:40]!r} cannot be read as {kind}; quote it to make it text"
            raise self._document.fault(path, message) from error
        if isinstance(value, str):
            _check_text(self._document, path, value)
        elif isinstance(value, int) and abs(value) > MAX_WHOLE:
            raise self._document.fault(path, f"whole numbers lie between -{MAX_WHOLE} and {MAX_WHOLE}")
        elif isinstance(value, float) and not isfinite(value):
            raise self._document.fault(path, "numbers must be finite")
        return value

    def _fault(self, event: Event, message: str) -> SpecError:
        line, column = _place(event)
        return SpecError(f"{self._document.where}:{line}:{column}: {message}")


def _check_text(document: Document, path: Path, text: str) -> None:
    bad = _UNSEEN.search(text)
    if bad is not None:
        raise document.fault(path, f"character {ord(bad.group()):#06x} cannot stand in a text")


def _place(event: Event) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _line_column(before: str) -> str:
    """`line:column` of what follows `before`."""
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


_SCALARS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}.__getitem__,
    "null": lambda _text: None,
}
