"""Expressions give plain values of bounded size, or say why they give none."""

from typing import Any

import pytest
from cel_expr_python import cel

from pipeline.environments.declared.expressions import ExpressionFault, compile_expression

LIST, ANY_LIST = cel.Type.List(cel.Type.STRING), cel.Type.List(cel.Type.DYN)
TYPES = {
    "s": cel.Type.STRING, "n": cel.Type.INT, "f": cel.Type.DOUBLE, "l": LIST, "d": cel.Type.DYN,
    "m": cel.Type.Map(cel.Type.STRING, LIST), "row.name": cel.Type.STRING,
}  # fmt: skip
VALUES: dict[str, Any] = {
    "s": "abc", "n": 4, "f": 2, "l": ["x", "y"], "d": 3, "m": {"x": ["p"], "y": ["q", "r"]}, "row.name": "z",
}  # fmt: skip


def value(text: str, wanted: cel.Type | None = None, **values: Any) -> Any:
    return compile_expression(text, TYPES, wanted)(lambda name: {**VALUES, **values}[name])


@pytest.mark.parametrize(
    ("text", "gives"),
    [
        ("l.map(x, l.map(y, x + y).join(', ')).join('; ')", "xx, xy; yx, yy"),
        ("l.map(x, x + ': ' + m[x].map(y, y in l ? y : '(' + y + ')').join(', ')).join('; ')", "x: (p); y: (q), (r)"),
        ("l.filter(x, x != 'y').map(x, x + s).filter(x, x.size() > 2)", ["xabc"]),
        ("l.exists(x, m[x].all(y, l.exists_one(z, z < y)))", False),
        ("s.replace('b', '-').split('-').join('+').upperAscii()", "A+C"),
        ("'%s is %d'.format([s, n])", "abc is 4"),
        ("f * 1.5", 3.0),
        ("row.name + s", "zabc"),
        ("math.greatest(n, 7) > 5 && s.matches('^a.*$')", True),
        ("s.contains('row.nonsense') ? 'l' : \"n\"", "n"),
    ],
)
def test_what_authors_write(text: str, gives: Any) -> None:
    assert value(text) == gives


@pytest.mark.parametrize(
    ("text", "values", "said"),
    [
        ("s + s", {"s": "x" * 9000}, "longer than 10000 characters"),
        ("l.map(x, x + x)", {"l": ["x" * 900]}, "elements longer than 1000 characters"),
        ("l + l", {"l": ["x"] * 150}, "more than 200 elements"),
        ("n * n", {"n": 2**52}, "beyond|overflow"),
        ("n * 4", {"n": 2**52}, "beyond 9007199254740992"),
        ("n / 0", {}, "divide by zero"),
        ("f / 0.0", {}, "no number comes out: inf"),
        ("l[5]", {}, "Index error"),
        ("m['z']", {}, "Key not found"),
        ("s.matches('(')", {}, "invalid regular expression|missing"),
        ("s", {"s": "\ud800"}, "not valid|surrogates"),
        ("s", {"s": None}, "Unexpected value type"),
        ("d", {"d": None}, "must give text, a number"),
        ("d", {"d": [[1]]}, "an element must be text, a number or a bool"),
    ],
)
def test_values_that_are_none(text: str, values: dict[str, Any], said: str) -> None:
    with pytest.raises(ExpressionFault, match=said):
        value(text, **values)


@pytest.mark.parametrize(
    ("wanted", "good", "bad"),
    [
        (cel.Type.INT, 3, "3"), (cel.Type.INT, 0, True), (cel.Type.STRING, "x", 3), (cel.Type.BOOL, True, 1),
        (cel.Type.DOUBLE, 1.5, "1.5"), (LIST, ["x"], ["x", 1]), (LIST, [], "x"), (ANY_LIST, [1, "x"], 1),
    ],
)  # fmt: skip
def test_what_the_checker_cannot_prove_is_looked_at_each_time(wanted: cel.Type, good: Any, bad: Any) -> None:
    assert value("d", wanted, d=good) == good
    with pytest.raises(ExpressionFault, match="is needed here"):
        value("d", wanted, d=bad)
