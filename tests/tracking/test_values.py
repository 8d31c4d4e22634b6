"""Names and values as MLflow takes them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlflow.utils.validation import _validate_metric_name

from pipeline.tracking.values import MAX_PARAM, flatten, numbers, param_text, safe_name


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("pass@1", "pass_at_1"),
        ("pass^4", "pass_hat_4"),
        ("a/b.c-d e", "a/b.c-d e"),
        ("../up", "_up"),
        ("Öl", "_l"),
    ],
)
def test_names_come_into_the_alphabet(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@given(st.text(max_size=400))
def test_mlflow_takes_every_safe_name(name: str) -> None:
    _validate_metric_name(safe_name(name))


def test_long_names_stay_apart() -> None:
    first, second = safe_name("x" * 300 + "1"), safe_name("x" * 300 + "2")
    assert first != second
    assert len(first) == len(second) == 250


def test_numbers_leave_out_what_is_missing() -> None:
    values = {"a": 1, "b": {"c": 2.5, "d": None}, "e": "text", "f": math.nan, "g": True, "h": [1, 2]}
    assert numbers(values) == {"a": 1.0, "b.c": 2.5, "g": 1.0}


def test_a_long_param_is_cut_with_the_hash_of_the_whole() -> None:
    first, second = param_text("x" * 7000 + "1"), param_text("x" * 7000 + "2")
    assert len(first) == MAX_PARAM
    assert first != second


def test_sequences_are_one_leaf() -> None:
    assert dict(flatten({"rl": {"rounds": [8, 11]}})) == {"rl.rounds": [8, 11]}
    assert param_text([8, 11]) == "[8, 11]"
