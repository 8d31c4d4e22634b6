"""Conditions as params write them, and paths into JSON values."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from pipeline.condition import MISSING, Condition, Wanted, compiled, matches, path_parts, places, same
from pipeline.errors import GraderFault

_wanted: TypeAdapter[Condition] = TypeAdapter(Wanted)


@pytest.mark.parametrize(
    ("written", "good", "bad"),
    [
        ("paid", ["paid"], ["open", None, MISSING]),
        (1, [1, 1.0], [True, "1", 2]),
        (True, [True], [1, "true", MISSING]),
        (None, [None], [MISSING, 0]),
        ([1, "a"], [[1, "a"]], [[1], ["a", 1]]),
        ("<=100", [100, -5, 0.5], [101, "5", True, MISSING]),
        ("> 2.5", [3], [2.5, 2]),
        ("!=3", [2, "3"], [3, MISSING]),
        ({"equals": "<=100"}, ["<=100"], [3]),
        ({"equals": {"a": 1}}, [{"a": 1}], [{"a": True}, {}]),
        ({"one_of": ["a", 2]}, ["a", 2], ["b", MISSING]),
        ({"none_of": ["a"]}, ["b", 1], ["a", MISSING]),
        ({"at_least": 1, "below": 3}, [1, 2.9], [0.5, 3]),
        ({"contains": "lat"}, ["too late"], ["soon", 3]),
        ({"contains": 2}, [[1, 2]], [[1], 2]),
        ({"regex": "^O-[0-9]+$"}, ["O-12"], ["X", 12, MISSING]),
        ({"absent": True}, [MISSING], [None, 0]),
        ({"absent": False}, [None, 0], [MISSING]),
    ],
)  # fmt: skip
def test_each_kind_of_condition(written: Any, good: list[object], bad: list[object]) -> None:
    condition = _wanted.validate_python(written)
    assert [condition.fault(value) for value in good] == [None] * len(good)
    assert all(condition.fault(value) for value in bad)
    again = _wanted.validate_python(condition.model_dump())
    assert again == condition


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({}, "an empty condition"),
        ({"at_mots": 3}, "Extra inputs are not permitted"),
        ({"regex": "("}, "is not a regular expression: missing"),
        ({"regex": "a" * 1001}, "at most 1000 are allowed"),
    ],
)
def test_conditions_that_mean_nothing_are_refused(written: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        _wanted.validate_python(written)


def test_faults_name_what_is_and_what_should_be() -> None:
    assert _wanted.validate_python({"at_most": 3}).fault(4) == "is 4, should be <= 3"
    assert _wanted.validate_python("a").fault(MISSING) == "is missing"
    assert _wanted.validate_python({"same_as": "golden"}).fault(1, 2) == "is 1, golden is 2"


def test_a_hostile_pattern_is_stopped() -> None:
    with pytest.raises(GraderFault, match="found no end within"):
        matches(compiled("^(a|aa)+$"), "a" * 50 + "!")


def test_paths() -> None:
    assert path_parts('orders.*."a.b"') == ("orders", "*", "a.b")
    for wrong in ("", ".", "a..b", 'a."b', "a."):
        with pytest.raises(ValueError, match="is not a path"):
            path_parts(wrong)


def test_a_star_means_all_that_either_state_has() -> None:
    found = list(places(("t", "*", "s"), {"t": {"b": {"s": 1}, "a": {}}}, {"t": {"c": {"s": 2}}}))
    assert [(path, value is MISSING, other is MISSING) for path, value, other in found] == [
        ("t.a.s", True, True), ("t.b.s", False, True), ("t.c.s", True, False),
    ]  # fmt: skip
    assert list(places(("l", "1"), {"l": [5, 6]})) == [("l.1", 6, MISSING)]
    assert list(places(("l", "7"), {"l": [5, 6]})) == [("l.7", MISSING, MISSING)]


def test_json_equality_keeps_booleans_apart_at_any_depth() -> None:
    assert same({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]})
    assert not same({"a": [1]}, {"a": [True]})
    assert not same([1], [1, 2])
