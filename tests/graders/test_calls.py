"""The grader of tool calls: required, forbidden, ordered, repeated, each on the turn where it happened."""

from typing import Any

import pytest

from pipeline.graders.view import Made
from pipeline.records import ToolCall
from tests.graders.views import call, first, grade, view

CHECK, REFUND = {"tool": "check_fraud"}, {"tool": "refund"}
UNREADABLE = Made(1, ToolCall("x", "refund", None, "{", "not valid JSON"), "error: unreadable arguments")


def entry(**rules: Any) -> dict[str, Any]:
    """An entry of params with these rules."""
    return {"kind": "tool_calls"} | rules


def turns(rules: dict[str, Any], *made: Made) -> list[tuple[int | None, float | None]]:
    """Turn and score of all grades, the episode's first."""
    return [(one.turn, one.score) for one in grade(rules, view(made))]


@pytest.mark.parametrize(
    ("wanted", "score"),
    [
        ({}, 1.0),
        ({"order_id": "O-1"}, 1.0),
        ({"amount": "<=100"}, 1.0),
        ({"amount": "<=10"}, 0.0),
        ({"order_id": {"regex": "^O-"}, "reason": {"one_of": ["late", "lost"]}}, 1.0),
        ({"coupon": {"absent": True}}, 1.0),
        ({"reason": {"absent": True}}, 0.0),
        ({"lines.0.sku": "A"}, 1.0),
    ],
)
def test_required_with_conditions_on_arguments(wanted: dict[str, Any], score: float) -> None:
    made = call(0, "refund", order_id="O-1", amount=40, reason="late", lines=[{"sku": "A"}])
    assert first(entry(required=[{"tool": "refund", "arguments": wanted}]), view([made])).score == score


def test_a_required_call_counts_only_when_the_environment_took_it() -> None:
    rules = entry(required=[REFUND])
    assert turns(rules, call(0, "refund", "error: no such order"), UNREADABLE) == [(None, 0.0)]
    assert turns(rules, call(0, "refund", "error: no such order"), call(3, "refund")) == [(None, 1.0), (3, 1.0)]
    foreign = entry(required=[REFUND], failed="(?i)^not found")
    assert turns(foreign, call(0, "refund", "Not found: O-1")) == [(None, 0.0)]


def test_a_forbidden_call_counts_even_when_it_was_refused() -> None:
    rules = entry(forbidden=[{"tool": "refund", "arguments": {"amount": ">100"}}])
    assert turns(rules, call(0, "refund", amount=100)) == [(None, 1.0)]
    assert turns(rules, call(2, "refund", "error: too much", amount=101)) == [(None, 0.0), (2, 0.0)]


def test_order_is_asked_of_named_calls_only_and_about_the_same_subject() -> None:
    rules = entry(order=[{"before": CHECK, "after": REFUND, "same": ["order_id"]}])
    checked, refunded = call(0, "check_fraud", order_id="O-1"), call(1, "refund", order_id="O-1")
    assert turns(rules, checked, refunded) == [(None, 1.0), (1, 1.0)]
    assert turns(rules, refunded, checked) == [(None, 0.0), (1, 0.0)]
    assert turns(rules, call(0, "look"), call(1, "pay")) == [(None, 1.0)]
    other = call(2, "refund", order_id="O-2")
    assert turns(rules, checked, refunded, other) == [(None, 0.5), (1, 1.0), (2, 0.0)]


def test_equal_calls_in_one_turn_are_told_apart() -> None:
    rules = entry(order=[{"before": CHECK, "after": REFUND}])
    early, late = call(0, "refund", order_id="O-1"), call(0, "refund", order_id="O-1")
    assert turns(rules, early, call(0, "check_fraud"), late) == [(None, 0.5), (0, 0.0), (0, 1.0)]


def test_golden_calls_are_each_needed_once_in_any_order() -> None:
    golden = (
        {"name": "a", "arguments": {"n": 1}},
        {"name": "a", "arguments": {"n": 1}},
        {"name": "b", "arguments": {}},
    )
    seen = view([call(0, "b"), call(1, "a", n=1)], golden_calls=golden)
    assert first(entry(golden=True), seen).score == pytest.approx(2 / 3)
    assert first(entry(golden=True), view()).reason == "the golden calls are not known"


def test_a_repeat_is_needless_when_its_answer_is_the_same() -> None:
    rules = entry(repeats=0)
    same = [call(n, "look", "open", order_id="O-1") for n in range(4)]
    assert turns(rules, *same) == [(None, 0.25), (1, 0.0), (2, 0.0), (3, 0.0)]
    assert turns(entry(repeats=3), *same) == [(None, 1.0)]
    changed = [call(0, "look", "open"), call(1, "refund"), call(2, "look", "refunded")]
    assert turns(rules, *changed) == [(None, 1.0)]
    assert turns(rules, call(0, "look", None), call(1, "look", None)) == [(None, 1.0)], "answers that are not known"


def test_rules_are_weighed_and_reasons_name_the_faults() -> None:
    rules = entry(required=[CHECK | {"weight": 3.0}], forbidden=[REFUND])
    found = grade(rules, view([call(0, "refund")]))
    assert (found[0].score, found[0].reason) == (0.0, "never made: check_fraud; forbidden, made once: refund")
    assert [(one.turn, one.weight, one.name) for one in found] == [(None, None, "it"), (0, 1.0, "it")]
    assert grade(rules, view([call(0, "check_fraud"), call(1, "refund")]))[0].score == 0.75
