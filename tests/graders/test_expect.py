"""The state grader: places, conditions, golden and initial values, and no care for the way there."""

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graders.views import first, view

INITIAL = {"orders": {"O-1": {"status": "open", "sum": 40}, "O-2": {"status": "open", "sum": 9}}, "log": {}}
GOLDEN = {"orders": {"O-1": {"status": "refunded", "sum": 0}, "O-2": {"status": "open", "sum": 9}}, "log": {}}


def graded(expect: dict[str, Any], final: dict[str, Any] | None, **changes: Any) -> tuple[float | None, str]:
    """Score and reason."""
    seen = view(final_state=final, initial_state=INITIAL, golden_state=GOLDEN, **changes)
    grade = first({"kind": "state", "expect": expect}, seen)
    return grade.score, grade.reason


def test_share_of_expectations_that_hold() -> None:
    expect = {"orders.O-1.status": "refunded", "orders.O-1.sum": "<=0", "orders.O-2": {"same_as": "initial"}}
    assert graded(expect, GOLDEN) == (1.0, "all that was expected holds")
    score, reason = graded(expect, INITIAL)
    assert score == pytest.approx(1 / 3)
    assert reason == "orders.O-1.status is 'open', should be 'refunded'; orders.O-1.sum is 40, should be <= 0"


def test_a_star_must_hold_everywhere_and_golden_rows_may_not_be_missing() -> None:
    assert graded({"orders.*.sum": {"at_least": 0}}, GOLDEN)[0] == 1.0
    assert graded({"orders.*.sum": {"above": 0}}, GOLDEN) == (0.0, "orders.O-1.sum is 0, should be > 0")
    less = {"orders": {"O-1": GOLDEN["orders"]["O-1"]}}
    assert graded({"orders.*": {"same_as": "golden"}}, less)[0] == 0.0
    assert graded({"orders.O-9": {"absent": True}}, GOLDEN)[0] == 1.0


def test_what_is_not_known_is_null() -> None:
    assert graded({"log": {"absent": False}}, None) == (None, "the final state is not known")
    seen = view(final_state=GOLDEN)
    grade = first({"kind": "state", "expect": {"log": {"same_as": "golden"}}}, seen)
    assert (grade.score, grade.passed, grade.reason) == (None, None, "the golden state is not known")


@given(st.integers(0, 10_000))
def test_the_way_to_a_state_does_not_matter(seed: int) -> None:
    edits = [("O-1", "status", "refunded"), ("O-1", "sum", 0), ("O-2", "note", "seen"), ("O-2", "sum", 9)]
    random.Random(seed).shuffle(edits)
    final: dict[str, Any] = copy.deepcopy(INITIAL)
    for order, column, value in edits:
        final["orders"][order][column] = value
    assert graded({"orders.*.status": {"same_as": "golden"}, "orders.O-2.note": "seen"}, final)[0] == 1.0
