"""Python literals and calls: read as values, never run, never too much of them."""

from typing import Any

import pytest

from pipeline.traces.literals import MAX_DEPTH, MAX_LENGTH, json_or_literal, python_calls


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": null}', {"a": None}),
        ("{'a': None, 'b': (1, True)}", {"a": None, "b": [1, True]}),
        ("  {'path': 'C:\\d'}\n", {"path": "C:\\d"}),
        ("{1: -2.5}", {"1": -2.5}),
    ],
)
def test_json_and_literals(text: str, value: Any) -> None:
    assert json_or_literal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()", "{'a': open('/etc/passwd')}", "{'a': {1, 2}}", "{'a': b'x'}", "1e999",
        "'\\ud800'", "{'a': 1", "", "a.b", "[x for x in 'ab']", "\x00", "(" * 5000, "-" * 60000 + "1",
        "'a' " * 20000 + "x", "[" * MAX_DEPTH + "['a']" + "]" * MAX_DEPTH, "'" + "a" * MAX_LENGTH + "'",
        "a" + ".a" * 30000, "9" * 5000,
    ],
)  # fmt: skip
def test_whatever_is_no_plain_literal_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"literal|longer than"):
        json_or_literal(text)


def test_calls_with_names_by_keyword_or_by_a_schema() -> None:
    first, second, third = python_calls("[math.add(a=1, b=[2]), sort('x'), sort('x')]", {"math.add": ["a"]})
    assert (first.name, first.arguments, first.text) == ("math.add", {"a": 1, "b": [2]}, "math.add(a=1, b=[2])")
    assert (second.arguments, second.fault) == (None, "arguments by position, and no schema that names them")
    assert third.fault == second.fault
    (named,) = python_calls("sort('x', reverse=True)", {"sort": ["name", "reverse"]})
    assert named.arguments == {"name": "x", "reverse": True}


def test_each_of_many_calls_keeps_its_own_text() -> None:
    text = "[f('é'),\r\n  g(1,\n2),\rh(x='ü')" + ", f()" * 12_000 + "]"
    calls = python_calls(text, {})
    assert [call.text for call in calls[:4]] == ["f('é')", "g(1,\n2)", "h(x='ü')", "f()"]
    assert len(calls) == 12_003


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("f(a=g())", "not a plain literal"),
        ("f(a=name)", "not a plain literal"),
        ("f(**{'a': 1})", "unpacked or given twice"),
        ("f('x', a='y')", "unpacked or given twice"),
        ("f(1, 2)", "by position"),
    ],
)
def test_a_call_that_is_no_data_keeps_its_text(text: str, fault: str) -> None:
    (call,) = python_calls(text, {"f": ["a"]})
    assert call.arguments is None
    assert call.text == text
    assert fault in str(call.fault)


@pytest.mark.parametrize("text", ["hello there", "[]", "1", "[f(), 2]", "f()()", "x = f()", "'f()'"])
def test_other_text_is_no_call(text: str) -> None:
    with pytest.raises(ValueError, match=r"call|literal"):
        python_calls(text, {})
