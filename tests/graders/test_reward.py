"""Outcome and process, and the state and call graders on plain values."""

import pytest

from pipeline.graders.reward import outcome, process, success
from pipeline.graders.state import first_difference, grade_state
from pipeline.graders.tool_calls import Demand, grade_economy, grade_procedure
from pipeline.records import Grade


def grades(*scores: float | None) -> tuple[Grade, ...]:
    kinds = ("outcome", "process", "process")
    names = ("outcome", "procedure", "economy")
    return tuple(Grade(n, k, s) for n, k, s in zip(names, kinds, scores, strict=False))  # type: ignore[arg-type]


def test_success_and_process_keep_null_apart_from_zero() -> None:
    assert success(grades(1.0), 1.0) is True
    assert success(grades(0.0), 1.0) is False
    assert success(grades(None), 1.0) is None
    assert process(grades(1.0, 0.5, 1.0)) == 0.75
    assert process(grades(1.0, None, 1.0)) is None
    assert process(grades(1.0)) is None
    assert outcome(()) is None


def test_state_grade_names_the_first_difference() -> None:
    grade = grade_state({"claims": {"C-1": {"status": "open"}}}, {"claims": {"C-1": {"status": "denied"}}})
    assert (grade.score, grade.reason) == (0.0, "claims.C-1.status is 'open', should be 'denied'")
    assert grade_state({"a": [1, 2]}, {"a": [1, 2]}).score == 1.0
    assert first_difference({"a": 1}, {}) == "a is unexpected"
    assert first_difference({}, {"a": 1}) == "a is missing"


def test_procedure_counts_checks_before_each_decision() -> None:
    calls = [("look", "a"), ("decide", "a"), ("look", "b"), ("decide", "b")]
    demands = [Demand("a", frozenset({("look", "a")})), Demand("b", frozenset({("look", "b"), ("test", "b")}))]
    grade = grade_procedure(calls, demands, {"a": 1, "b": 3})
    assert grade.score == pytest.approx(2 / 3)
    assert grade.reason == "not checked before the decision: test b"
    assert grade_procedure(calls, demands, {"a": 0, "b": 3}).score == pytest.approx(1 / 3)
    assert grade_procedure([], [], {}).score == 1.0


def test_economy_is_needed_over_made() -> None:
    assert grade_economy(made=8, needed=4).score == 0.5
    assert grade_economy(made=2, needed=4).score == 1.0
    assert grade_economy(made=4, needed=4).reason == "no call was wasted"


@pytest.mark.parametrize(
    ("made", "needed", "refused", "score"),
    [(3, 4, 3, 0.0), (4, 4, 2, 0.5), (4, 4, 0, 1.0), (6, 4, 2, 4 / 6), (6, 4, 3, 0.5), (8, 4, 1, 0.5), (0, 0, 0, 1.0)],
)
def test_a_refused_call_is_wasted_however_few_were_made(made: int, needed: int, refused: int, score: float) -> None:
    grade = grade_economy(made, needed, refused)
    assert grade.score == pytest.approx(score)
    assert grade.passed is (score == 1.0)


def test_doing_nothing_earns_nothing() -> None:
    grade = grade_economy(made=0, needed=4)
    assert (grade.score, grade.passed) == (0.0, False)


def test_economy_says_where_less_was_done_than_needed_and_what_was_refused() -> None:
    assert grade_economy(made=0, needed=4).reason == "none of the 4 calls that are needed"
    assert grade_economy(made=3, needed=4, refused=3).reason == "3 of the 4 calls that are needed; 3 refused"
    assert grade_economy(made=5, needed=4, refused=1).reason == "5 calls where 4 suffice; 1 refused"
