"""How large may what an expression makes become? An upper bound from its syntax tree, found once, when it is compiled.

CEL bounds the iterations of an evaluation, not the size of its values: `[s].map(a, a + a).map(a, a + a)...` doubles
with every step. So each node's size is bounded from the bounds of its parts; an expression with a node that may exceed
`LIMIT` is refused. The tree is read from the serialized form of a checked expression (cel/expr/checked.proto and
syntax.proto of https://github.com/google/cel-spec; the numbers below are the field numbers there).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

LIMIT = 50_000_000
"""Highest size that an expression may reach on its way, in characters; an element of a list counts `ITEM` more."""
MAX_TEXT = 10_000
"""Characters of a text that an expression gives or is given; of a list, those of all elements together."""
MAX_ITEMS = 200
"""Elements of a list that an expression gives or is given."""
MAX_ITEM = 1000
"""Characters of one element of such a list."""
ITEM = 16
_ROUNDS = 1000
"""Iterations of all comprehensions of one evaluation: CEL's own budget, rounded up."""
_NESTED = 4
"""Comprehensions that may stand in each other."""

Fields = dict[int, list[Any]]


class TooLarge(Exception):
    """A node of the tree may become too large; the message says which kind of node."""


class Size(NamedTuple):
    """Bounds of a value: `weight` altogether, `length` elements, each of at most `element`."""

    weight: int
    length: int
    element: int


@dataclass(frozen=True, slots=True)
class _Scope:
    """Bounds of the names in scope, and how many iterations are left to the comprehensions of a part."""

    sizes: Mapping[str, Size]
    rounds: int = _ROUNDS
    nested: int = 0


SCALAR = Size(32, 0, 0)
LIST = Size(MAX_TEXT + MAX_ITEMS * ITEM, MAX_ITEMS, MAX_ITEM)


def anything(weight: int) -> Size:
    """Bounds of a value of which only the weight is known."""
    return Size(weight, weight, weight)


def size_of(value: Any) -> Size:
    """Bounds of a constant."""
    if isinstance(value, dict | list):
        parts = [size_of(each).weight for each in ([*value, *value.values()] if isinstance(value, dict) else value)]
        return Size(sum(parts) + len(parts) * ITEM, len(parts), max(parts, default=0))
    return anything(len(value)) if isinstance(value, str) else SCALAR


def check_growth(serialized: bytes, sizes: Mapping[str, Size]) -> None:
    """Raise TooLarge when a node may exceed `LIMIT`; `sizes` bounds the names that the expression is given."""
    checked = _fields(_fields(serialized)[2][0])
    _bound(_fields(checked[4][0]), _Scope(sizes))


def _bound(expr: Fields, scope: _Scope) -> Size:
    for kind, visit in _VISITS.items():
        if kind in expr:
            size = visit(_fields(expr[kind][0]), scope)
            if size.weight > LIMIT:
                raise TooLarge(f"it may make a value of more than {LIMIT // 1_000_000} million characters")
            return size
    return SCALAR


def _parts(values: list[bytes], scope: _Scope) -> list[Size]:
    return [_bound(_fields(each), scope) for each in values]


def _constant(fields: Fields, _scope: _Scope) -> Size:
    texts = [*fields.get(6, []), *fields.get(7, [])]
    return anything(len(texts[0])) if texts else SCALAR


def _name(fields: Fields, scope: _Scope) -> Size:
    return scope.sizes.get(fields[1][0].decode(), SCALAR)


def _select(fields: Fields, scope: _Scope) -> Size:
    operand = _fields(fields[1][0])
    if 4 in operand:
        dotted = f"{_fields(operand[4][0])[1][0].decode()}.{fields[2][0].decode()}"
        if dotted in scope.sizes:
            return scope.sizes[dotted]
    return anything(_bound(operand, scope).element)


def _call(fields: Fields, scope: _Scope) -> Size:
    name = fields[2][0].decode()
    parts = _parts([*fields.get(1, []), *fields.get(3, [])], scope)
    weights = [part.weight for part in parts]
    if name in _SCALARS:
        return SCALAR
    if name == "_+_":
        return Size(sum(weights), sum(part.length for part in parts), max(part.element for part in parts))
    if name == "_?_:_":
        return Size(*(max(sides) for sides in zip(parts[1], parts[2], strict=True)))
    if name == "_[_]":
        return anything(parts[0].element)
    if name == "join":
        return anything(weights[0] + parts[0].length * sum(weights[1:]))
    if name == "replace":
        return anything((weights[0] + 1) * (weights[2] + 1))
    if name == "split":
        return Size(weights[0] * (ITEM + 1) + ITEM, weights[0] + 1, weights[0])
    # Digits of `format` are bounded by 1000 a clause, and a clause takes at least two characters.
    return anything(sum(weights) * (500 if name == "format" else 2) + 64)


def _list(fields: Fields, scope: _Scope) -> Size:
    weights = [part.weight for part in _parts(fields.get(1, []), scope)]
    return Size(sum(weights) + ITEM * len(weights), len(weights), max(weights, default=0))


def _map(fields: Fields, scope: _Scope) -> Size:
    entries = [_fields(entry) for entry in fields.get(2, [])]
    parts = _parts([each for entry in entries for key in (3, 4) for each in entry.get(key, [])], scope)
    weights = [part.weight for part in parts]
    return Size(sum(weights) + ITEM * len(weights), len(weights), max(weights, default=0))


def _comprehension(fields: Fields, scope: _Scope) -> Size:
    """Of the macros' own comprehensions: what is gathered grows by at most one step a round.

    Rounds are shared with those in the step. What n rounds of a step with budget / n rounds of its own gather is a
    convex function of n, since bounds are polynomials of rounds; so it is largest at one end of the range of n.
    """
    if scope.nested == _NESTED:
        raise TooLarge(f"more than {_NESTED} macros stand in each other")
    over = _bound(_fields(fields[2][0]), scope)
    item, gathered = fields[1][0].decode(), fields[3][0].decode()
    start = _bound(_fields(fields[4][0]), scope)
    weights, lengths, elements = [], [], []
    for rounds in dict.fromkeys((1, max(1, min(over.length, scope.rounds)))):
        sizes = {**scope.sizes, item: anything(over.element), gathered: start}
        inner = _Scope(sizes, scope.rounds // rounds, scope.nested + 1)
        _bound(_fields(fields[5][0]), inner)
        step = _bound(_fields(fields[6][0]), inner)
        weights.append(step.weight * rounds)
        lengths.append(step.length * rounds)
        elements.append(step.element)
    whole = Size(max(weights), max(lengths), max(elements))
    return _bound(_fields(fields[7][0]), replace(scope, sizes={**scope.sizes, gathered: whole}))


def _fields(data: bytes) -> Fields:
    """One message of the wire format: field number to values, in order."""
    out: Fields = {}
    for number, value in _wire(data):
        out.setdefault(number, []).append(value)
    return out


def _wire(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value: Any
            value, at = _varint(data, at)
        else:
            length, at = _varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = data[at : at + length], at + length
        yield number, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


_SCALARS = frozenset({
    "_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "_&&_", "_||_", "!_", "-_", "_-_", "_*_", "_/_", "_%_", "@in",
    "size", "int", "uint", "double", "bool", "contains", "startsWith", "endsWith", "matches", "indexOf", "lastIndexOf",
    "math.@max", "math.@min", "@not_strictly_false",
})  # fmt: skip
_VISITS: dict[int, Callable[[Fields, _Scope], Size]] = {
    3: _constant, 4: _name, 5: _select, 6: _call, 7: _list, 8: _map, 9: _comprehension,
}  # fmt: skip
