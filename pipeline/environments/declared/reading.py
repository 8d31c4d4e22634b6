"""YAML text to plain data, with the place of every value.

Only what JSON could say is let in, plus comments: no anchors and aliases (so no bomb can be built), no tags, no
directives, no merge keys, no repeated keys; size, depth and number of values are bounded before anything is built.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionStartEvent, DocumentStartEvent, Event, NodeEvent, ScalarEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from pipeline.errors import SpecError

MAX_BYTES = 256 * 1024
MAX_DEPTH = 24
MAX_VALUES = 20_000
MAX_WHOLE = 2**53
"""Beyond this a whole number is not the same in every JSON reader."""

Path = tuple[int | str, ...]
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What no file or terminal can show: control characters but tabs and line ends, and halves of surrogate pairs."""
_TAG = "tag:yaml.org,2002:"
_NOT_JSON = {"timestamp": "a date", "binary": "bytes", "value": "a value sign", "merge": "a merge key"}


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
        dotted = ".".join(str(part) for part in path)
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
    node = _compose(text, where)
    if node is None:
        raise SpecError(f"{where}: is empty; see docs/declared.md for what belongs in it")
    document.data = _Builder(document).build(node, ())
    return document


def _compose(text: str, where: str) -> Node | None:
    try:
        depth = values = 0
        for event in YAML(typ="safe", pure=True).parse(text):
            name = type(event).__name__
            depth += name.endswith("StartEvent") - name.endswith("EndEvent")
            values += isinstance(event, NodeEvent)
            _refuse(event, where, depth, values)
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise SpecError(f"{where}{at}: not valid YAML: {error.problem or error.context}") from error
    except ReaderError as error:
        at = _line_column(text[: error.position])
        raise SpecError(f"{where}:{at}: character {ord(text[error.position]):#06x} cannot stand in a text") from error
    except YAMLError as error:
        raise SpecError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from error
    return node


def _refuse(event: Event, where: str, depth: int, values: int) -> None:
    at = f"{where}:{event.start_mark.line + 1}:{event.start_mark.column + 1}"
    if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor):
        raise SpecError(f"{at}: anchors and aliases are not allowed; write the value out")
    if isinstance(event, ScalarEvent | CollectionStartEvent) and event.ctag is not None:
        raise SpecError(f"{at}: tags are not allowed; remove {event.ctag}")
    if isinstance(event, DocumentStartEvent) and (event.version or event.tags):
        raise SpecError(f"{at}: directives such as %YAML are not allowed; remove the line")
    if depth > MAX_DEPTH:
        raise SpecError(f"{at}: nested deeper than {MAX_DEPTH}")
    if values > 2 * MAX_VALUES:
        raise SpecError(f"{at}: more than {MAX_VALUES} values in the file")


class _Builder:
    """Builds the data of a node tree and notes every place."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = MAX_VALUES

    def build(self, node: Node, path: Path) -> Any:
        self._document.places[path] = _place(node)
        self._left -= 1
        if self._left < 0:
            raise self._document.fault(path, f"more than {MAX_VALUES} values in the file")
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.build(item, (*path, number)) for number, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value in node.value:
            if not isinstance(key_node, ScalarNode):
                raise self._document.fault(path, "a key must be a plain word")
            key, here = key_node.value, (*path, key_node.value)
            if key in out:
                self._document.keys[here] = _place(key_node)
                raise self._document.fault(here, "this key stands here twice", key=True)
            self._document.keys[here] = _place(key_node)
            if str(key_node.tag) == f"{_TAG}merge":
                raise self._document.fault(here, "merge keys are not allowed; write the values out", key=True)
            _check_text(self._document, here, key, key=True)
            out[key] = self.build(value, here)
        return out

    def _scalar(self, node: Node, path: Path) -> Any:
        kind = str(node.tag).removeprefix(_TAG)
        if kind not in _SCALARS:
            what = _NOT_JSON.get(kind, kind)
            raise self._document.fault(path, f"{node.value!r} reads as {what}; quote it to make it text")
        try:
            value = _SCALARS[kind](node.value)
        except (ValueError, KeyError) as error:
            message = f"{node.value[:40]!r} cannot be read as {kind}; quote it to make it text"
            raise self._document.fault(path, message) from error
        if isinstance(value, str):
            _check_text(self._document, path, value)
        elif isinstance(value, int) and abs(value) > MAX_WHOLE:
            raise self._document.fault(path, f"whole numbers lie between -{MAX_WHOLE} and {MAX_WHOLE}")
        elif isinstance(value, float) and not isfinite(value):
            raise self._document.fault(path, "numbers must be finite")
        return value


def _check_text(document: Document, path: Path, text: str, key: bool = False) -> None:
    bad = _UNSEEN.search(text)
    if bad is not None:
        raise document.fault(path[:-1] if key else path, f"character {ord(bad.group()):#06x} cannot stand in a text")


def _place(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


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
