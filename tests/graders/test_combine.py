"""How grades become a reward: three ways to combine, nulls, absent grades, and what may never happen."""

from collections.abc import Sequence
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ParamsError
from pipeline.grader_params import RewardParams
from pipeline.graders.reward import check_given, process, reward, rewards, usable_names
from pipeline.params import parse_params
from pipeline.records import Grade
from tests.graders.params import raw_params

NAMES = ("outcome", "procedure", "tone")
Combine = Literal["weighted", "all", "hybrid"]
scores = st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=3, max_size=3)
known_scores = st.lists(st.floats(0, 1), min_size=3, max_size=3)
weight_lists = st.lists(st.floats(0.01, 5), min_size=3, max_size=3)
combines = st.sampled_from(["weighted", "all", "hybrid"])


def rule(
    combine: Combine = "weighted", weights: Sequence[float] = (2, 1, 1), required: str = "procedure"
) -> RewardParams:
    """A rule over the three names."""
    needed = (required,) if combine == "hybrid" else ()
    return RewardParams(
        success_at=1.0, combine=combine, required=needed, weights=dict(zip(NAMES, weights, strict=True))
    )


def grades(values: Sequence[float | None]) -> tuple[Grade, ...]:
    """A grade of each name; a score of 0.5 passes."""
    return tuple(
        Grade(name, "process", value, None if value is None else value >= 0.5)
        for name, value in zip(NAMES, values, strict=False)
    )


def test_weighted_is_the_weighted_mean() -> None:
    assert reward(grades([1.0, 0.5, 0.0]), rule()) == pytest.approx(0.625)


def test_all_is_one_only_when_every_weighted_grade_passed() -> None:
    assert reward(grades([0.5, 0.5, 0.5]), rule("all")) == 1.0
    assert reward(grades([1.0, 1.0, 0.4]), rule("all")) == 0.0
    assert reward(grades([1.0, 1.0, 0.4]), rule("all", (1, 1, 0))) == 1.0


def test_hybrid_is_the_mean_once_the_required_ones_passed() -> None:
    assert reward(grades([1.0, 0.5, 0.0]), rule("hybrid")) == pytest.approx(0.625)
    assert reward(grades([1.0, 0.4, 1.0]), rule("hybrid")) == 0.0


def test_a_grade_without_a_verdict_passes_with_a_full_score_only() -> None:
    bare = [Grade("outcome", "outcome", 1.0), Grade("procedure", "process", 0.99), Grade("tone", "process", 1.0)]
    assert reward(bare, rule("all", (1, 0, 1))) == 1.0
    assert reward(bare, rule("all")) == 0.0


@given(scores, combines)
def test_a_null_grade_makes_every_reward_null(values: list[float | None], combine: Combine) -> None:
    assert (reward(grades(values), rule(combine)) is None) == (None in values)


@given(known_scores, st.integers(0, 2), st.floats(0, 1), weight_lists, combines)
def test_a_better_grade_never_lowers_the_reward(
    values: list[float], place: int, other: float, weights: list[float], combine: Combine
) -> None:
    better = [*values[:place], max(values[place], other), *values[place + 1 :]]
    low, high = (reward(grades(each), rule(combine, weights)) for each in (values, better))
    assert low is not None
    assert high is not None
    assert high >= low - 1e-12


@given(known_scores, st.integers(0, 2), st.floats(0, 5), weight_lists)
def test_more_weight_draws_the_reward_towards_its_grade(
    values: list[float], place: int, more: float, weights: list[float]
) -> None:
    heavier = [weight + more * (number == place) for number, weight in enumerate(weights)]
    before, after = (reward(grades(values), rule("weighted", each)) for each in (weights, heavier))
    assert before is not None
    assert after is not None
    assert abs(after - values[place]) <= abs(before - values[place]) + 1e-12


def test_what_an_environment_does_not_grade_takes_no_part() -> None:
    only_outcome = (Grade("outcome", "outcome", 0.5),)
    assert reward(only_outcome, rule()) == 0.5
    assert reward((), rule()) is None
    broken = (Grade("outcome", "outcome", None), Grade("procedure", "process", None))
    assert rewards([only_outcome, broken], rule()) == [0.5, None], "a broken try does not take the others' rewards"


def test_what_only_some_tries_have_is_null_for_the_others() -> None:
    assert rewards([grades([1.0, 1.0, 1.0]), grades([1.0, 1.0])], rule()) == [1.0, None]


def test_grades_of_turns_and_held_out_ones_stay_out_of_reward_and_process() -> None:
    turned = Grade("tone", "process", 0.0, turn=1)
    watching = Grade("watch", "process", 0.0, held_out=True)
    assert reward((turned, *grades([1.0, 1.0, 1.0]), watching), rule()) == 1.0
    assert process((turned, *grades([1.0, 1.0, 1.0]), watching)) == 1.0
    assert usable_names([turned, watching, Grade("outcome", "outcome", None)]) == {"outcome"}


def test_a_weight_that_names_no_grade_tells_the_known_ones() -> None:
    with pytest.raises(ParamsError, match=r"nothing gives a grade named 'tone'; known are outcome, procedure;"):
        check_given(rule(), ["procedure", "outcome"])


GRADER = {"name": "short", "kind": "transcript", "max_turns": 3}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward.weights": {"short": 1}, "graders": [GRADER | {"held_out": True}]}, "'short', which is held out of"),
        ({"graders": [GRADER, GRADER]}, "two entries give a grade named 'short'"),
        ({"reward.required": ["outcome"]}, "required is read by combine: hybrid only"),
        ({"reward.combine": "hybrid"}, "hybrid needs grades in required"),
        ({"graders": [GRADER | {"max_turn": 3}]}, "transcript.max_turn'; did you mean 'max_turns'"),
        ({"graders": [{"name": "short", "kind": "transcript"}]}, "no limit; give max_turns, max_calls or max_tokens"),
        ({"graders": [GRADER | {"kind": "transcripts"}]}, "is none; did you mean"),
    ],
)  # fmt: skip
def test_params_that_cannot_mean_anything_are_errors(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        parse_params(raw_params(changes))


def test_a_held_out_grader_is_named_where_the_file_is_whole() -> None:
    params = parse_params(raw_params({"graders": [GRADER | {"held_out": True}]}))
    assert [(entry.name, entry.held_out, entry.gives()) for entry in params.graders] == [("short", True, ("short",))]
