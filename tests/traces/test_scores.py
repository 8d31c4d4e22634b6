"""Scores in one form."""

from typing import Any

from pipeline.traces.scores import LONGEST, flat_scores


def test_objects_in_objects_name_their_parts() -> None:
    assert flat_scores("m", {"a": True, "b": {"c": 0.5, "d": "C", "e": None}}, {"C": 1.0}) == {
        "m.a": 1.0, "m.b.c": 0.5, "m.b.d": 1.0,
    }  # fmt: skip
    assert flat_scores("", {"reward": float("inf"), "x": 1}) == {"x": 1.0}


def test_names_do_not_grow_without_end() -> None:
    deep: Any = {"end": 1}
    for _ in range(500):
        deep = {"k" * LONGEST: deep}
    assert flat_scores("m", {"deep": deep, "near": 2}) == {"m.near": 2.0}
