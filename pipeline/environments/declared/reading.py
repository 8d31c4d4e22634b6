"""YAML text to plain data, with the place of every value.

Only what JSON could say is let in, plus comments: no anchors and aliases (so no bomb can be built), no tags, no merge
keys, no repeated keys; size, depth and number of values are bounded before anything is built.
"""

from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, ScalarEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pipeline.errors import SpecError

MAX_BYTES = 256 * 1024
MAX_DEPTH = 24
MAX_VALUES = 20_000

Path = tuple[int | str, ...]
_PLAIN = {
    f"tag:yaml.org,2002:{name}": name for name in ("str", "int", "float", "bool", "null", "map", "seq")
}  # fmt: skip


@dataclass(slots=True)
class Document:
    """The data of a YAML file, and where each value stands."""

    where: str
    data: Any = None
    places: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def place(self, path: Path) -> str:
        """`file:line:column` of the value at `path`, or of the nearest value around it."""
        while path and path not in self.places:
            path = path[:-1]
        line, column = self.places.get(path, (1, 1))
        return f"{self.where}:{line}:{column}"

    def fault(self, path: Path, message: str) -> SpecError:
        """An error that names the place and the path of a value."""
        dotted = ".".join(str(part) for part in path)
        return SpecError(f"{self.place(path)}: {dotted + ': ' if dotted else ''}{message}")


def read_document(text: str, where: str) -> Document:
    """Parse `text`; `where` names the file in messages. Raises SpecError with line and column."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise SpecError(f"{where}: longer than {MAX_BYTES // 1024} KB; a spec is written by hand, so this is none")
    document = Document(where)
    node = _compose(text, where)
    if node is None:
        raise SpecError(f"{where}: is empty; see docs/environments.md for what belongs in it")
    document.data = _Builder(document).build(node, ())
    return document


def _compose(text: str, where: str) -> Node | None:
    try:
        depth = 0
        for event in YAML(typ="safe", pure=True).parse(text):
            name = type(event).__name__
            depth += name.endswith("StartEvent") - name.endswith("EndEvent")
            _refuse(event, where, depth)
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        at = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise SpecError(f"{where}{at}: not valid YAML: {error.problem}") from error
    except YAMLError as error:
        raise SpecError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from error
    return node


def _refuse(event: Any, where: str, depth: int) -> None:
    at = f"{where}:{event.start_mark.line + 1}:{event.start_mark.column + 1}"
    if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
        raise SpecError(f"{at}: anchors and aliases are not allowed; write the value out")
    tag = getattr(event, "ctag", None)
    if tag is not None and str(tag) not in ("", "!") and not isinstance(event, ScalarEvent):
        raise SpecError(f"{at}: tags are not allowed; remove {tag}")
    if depth > MAX_DEPTH:
        raise SpecError(f"{at}: nested deeper than {MAX_DEPTH}")


class _Builder:
    """Builds the data of a node tree and notes every place."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = MAX_VALUES

    def build(self, node: Node, path: Path) -> Any:
        self._document.places[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
        self._left -= 1
        if self._left < 0:
            raise self._document.fault(path, f"more than {MAX_VALUES} values in the file")
        kind = _PLAIN.get(str(node.tag))
        if isinstance(node, MappingNode) and kind == "map":
            return self._mapping(node, path)
        if isinstance(node, SequenceNode) and kind == "seq":
            return [self.build(item, (*path, number)) for number, item in enumerate(node.value)]
        if isinstance(node, ScalarNode) and kind in _SCALARS:
            return self._scalar(node, kind, path)
        raise self._document.fault(path, f"tags are not allowed; remove {node.tag}")

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value in node.value:
            key = key_node.value if isinstance(key_node, ScalarNode) else None
            if key is None:
                raise self._document.fault(path, "a key must be a plain word")
            if key in out:
                raise self._document.fault((*path, key), "this key stands here twice")
            out[key] = self.build(value, (*path, key))
        return out

    def _scalar(self, node: ScalarNode, kind: str, path: Path) -> Any:
        try:
            return _SCALARS[kind](node.value)
        except (ValueError, KeyError) as error:
            raise self._document.fault(path, f"cannot be read as {kind}; quote it to make it text") from error


_SCALARS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}.__getitem__,
    "null": lambda _text: None,
}
