"""Python literals and calls as models write them: parsed into a syntax tree of bounded size, never run.

The values that come out are those of JSON: a tuple becomes a list, a key becomes text.
"""

import ast
import json
import re
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from pipeline.records import JsonObject

MAX_LENGTH = 1 << 16
"""Characters that are looked at; longer text is no literal."""
MAX_DEPTH = 40
"""Brackets inside brackets; deeper text is no literal."""
_BREAK = re.compile(rb"\r\n?|\n")


class PythonCall(NamedTuple):
    """One call such as `find(path='.', limit=3)`."""

    name: str
    arguments: JsonObject | None
    """None exactly when `fault` says why."""
    text: str
    fault: str | None


def json_or_literal(text: str) -> Any:
    """The value of JSON text, else of a Python literal. Raises ValueError for anything else."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _value(_tree(text))


def python_calls(text: str, parameters: dict[str, Sequence[str]]) -> list[PythonCall]:
    """The calls of `f(a=1)` or `[f(a=1), g()]`. Raises ValueError when the text is anything else.

    `parameters` names those of each known function in order, so that arguments by position get names.
    """
    tree = _tree(text)
    nodes = tree.elts if isinstance(tree, ast.List) else [tree]
    if not nodes or not all(isinstance(node, ast.Call) for node in nodes):
        raise ValueError("not a list of calls")
    source = _Source(text.strip())
    return [_call(node, source, parameters) for node in nodes if isinstance(node, ast.Call)]


class _Source:
    """Text with its lines found once: `ast.get_source_segment` looks for them anew with every node."""

    def __init__(self, text: str) -> None:
        self._data = text.encode()
        self._starts = [0, *(match.end() for match in _BREAK.finditer(self._data))]

    def of(self, node: ast.Call) -> str:
        """The text of a node, whose places are in bytes."""
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        return self._data[start:end].decode()


def _call(node: ast.Call, source: _Source, parameters: dict[str, Sequence[str]]) -> PythonCall:
    name = _dotted(node.func)
    text = source.of(node)
    try:
        return PythonCall(name, _arguments(node, parameters.get(name)), text, None)
    except ValueError as fault:
        return PythonCall(name, None, text, str(fault))


def _arguments(node: ast.Call, names: Sequence[str] | None) -> JsonObject:
    if node.args and (names is None or len(node.args) > len(names)):
        raise ValueError("arguments by position, and no schema that names them")
    found = dict(zip(names or (), map(_value, node.args), strict=False))
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in found:
            raise ValueError("arguments that are unpacked or given twice")
        found[keyword.arg] = _value(keyword.value)
    return found


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    first = node.id if isinstance(node, ast.Name) else ""
    if not first:
        raise ValueError("what is called has no plain name")
    return ".".join([first, *reversed(parts)])


def _tree(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH or _depth(text) > MAX_DEPTH:
        raise ValueError(f"longer than {MAX_LENGTH} characters, or more than {MAX_DEPTH} brackets deep")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes such as \d
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"neither JSON nor a Python literal ({error})"[:200]) from error


def _depth(text: str) -> int:
    """Most brackets open at once, those within quotes counted too: an upper bound."""
    depth = most = 0
    for sign in text:
        if sign in "([{":
            depth += 1
            most = max(most, depth)
        elif sign in ")]}":
            depth -= 1
    return most


def _value(node: ast.expr) -> Any:
    try:
        return orjson.loads(json.dumps(ast.literal_eval(node), allow_nan=False))
    except (TypeError, ValueError, MemoryError, RecursionError) as error:
        raise ValueError(f"not a plain literal ({error})"[:200]) from error
