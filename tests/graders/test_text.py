"""Graders of the final answer, and of the length of an episode."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.graders.fuzzy import likeness
from pipeline.graders.text import last_number
from tests.graders.views import call, first, view

words = st.text(alphabet="abc ", max_size=12)


def score(answer: str | None, match: str, expected: object, **more: Any) -> float | None:
    """The score of an answer."""
    return first({"kind": "text", "match": match, "expected": expected} | more, view(answer=answer)).score


def test_exact_looks_past_white_space_and_case() -> None:
    assert score(" It is\n PAID. ", "exact", "it is paid.") == 1.0
    assert score("It is PAID.", "exact", "it is paid.", ignore_case=False) == 0.0
    assert score("Yes, it is paid.", "exact", "it is paid.") == 0.0


def test_regex_searches_or_fits_the_whole() -> None:
    assert score("Order O-12 is paid", "regex", r"o-\d+") == 1.0
    assert score("Order O-12 is paid", "regex", r"o-\d+", whole=True) == 0.0
    assert score("Order O-12", "regex", r"o-\d+", ignore_case=False) == 0.0


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("It costs $1,234.50.", 1234.5), ("first 3, then 4", 4), ("-7 degrees", -7), ("3.4e2", 340), ("10-12", 12),
        ("C-100", 100), ("none", None), ("v1.2.3", None), ("5%", 5), ("12,34", 34), ("", None),
    ],
)  # fmt: skip
def test_numbers_in_answers(answer: str, number: float | None) -> None:
    assert last_number(answer, whole=False) == number


def test_number_has_a_tolerance_and_may_be_the_whole_answer() -> None:
    assert score("about 99.6 euros", "number", 100, tolerance=0.5) == 1.0
    assert score("about 99.4 euros", "number", 100, tolerance=0.5) == 0.0
    assert score("100", "number", 100, whole=True) == 1.0
    assert score("100 euros", "number", 100, whole=True) == 0.0


def test_fuzzy_scores_likeness() -> None:
    assert score("I have refunded your ordr O-1 in full", "fuzzy", "refunded your order O-1") == pytest.approx(22 / 23)
    assert score("abcd", "fuzzy", "abcx", whole=True) == 0.75
    assert likeness("", "", whole=True) == 1.0
    assert likeness("", "x", whole=True) == 0.0


@settings(max_examples=40)
@given(words, words)
def test_likeness_is_levenshteins(one: str, other: str) -> None:
    table = [[max(i, j) if 0 in (i, j) else 0 for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            replaced = table[i - 1][j - 1] + (one[i - 1] != other[j - 1])
            table[i][j] = min(replaced, table[i - 1][j] + 1, table[i][j - 1] + 1)
    longest = max(len(one), len(other))
    assert likeness(one, other, whole=True) == pytest.approx(1 - table[-1][-1] / longest if longest else 1.0)
    if one:
        parts = {other[i:j] for i in range(len(other) + 1) for j in range(i, len(other) + 1)}
        nearest = max(1 - (1 - likeness(one, part, whole=True)) * max(len(one), len(part)) / len(one) for part in parts)
        assert likeness(one, other, whole=False) == pytest.approx(nearest)


def test_what_is_expected_may_stand_in_the_task() -> None:
    entry = {"kind": "text", "match": "number", "expected_at": "golden.orders.*.sum"}
    golden = {"orders": {"O-1": {"sum": "40"}, "O-2": {"sum": 7}}}
    assert first(entry, view(answer="It is 7", golden_state=golden)).score == 1.0
    assert first(entry, view(answer="It is 8", golden_state=golden)).score == 0.0
    assert first(entry, view(answer="It is 8")).reason == "the task holds nothing at golden.orders.*.sum"
    worded = first(entry, view(answer="8", golden_state={"orders": {"O-1": {"sum": "many"}}}))
    assert (worded.score, worded.reason) == (None, "what is expected is no number: many")


def test_no_answer_is_a_zero_not_a_null() -> None:
    assert score(None, "exact", "x") == 0.0


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"match": "exact"}, "give either expected or expected_at"),
        ({"match": "exact", "expected": 4}, "expected of exact must be a text in quotes, not 4"),
        ({"match": "number", "expected": "4"}, "expected of number must be a number, not '4'"),
        ({"match": "regex", "expected": "("}, "is not a regular expression"),
        ({"match": "regex", "expected_at": "golden.a"}, "text of a task is no pattern"),
        ({"match": "exact", "expected_at": "final.a"}, "must begin with golden, initial or knobs"),
    ],
)
def test_entries_that_cannot_work_are_refused(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        first({"kind": "text"} | entry, view())


def test_transcript_limits() -> None:
    seen = view([call(0, "a"), call(1, "a"), call(1, "b")])
    assert first({"kind": "transcript", "max_turns": 3, "max_calls": 3, "max_tokens": 30}, seen).score == 1.0
    over = first({"kind": "transcript", "max_turns": 2, "max_calls": 2}, seen)
    assert over.score == pytest.approx(2 / 3)
    assert over.passed is False
    assert over.reason == "3 turns where 2 are allowed; 3 calls where 2 are allowed"
    assert first({"kind": "transcript", "max_calls": 0}, seen).score == 0.0
    unknown = first({"kind": "transcript", "max_tokens": 5}, view(tokens=None))
    assert (unknown.score, unknown.reason) == (None, "the number of tokens is not known")
