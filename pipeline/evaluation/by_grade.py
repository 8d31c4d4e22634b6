"""Every grade by itself: its mean and how often it could not be had, for graders that tell more than the outcome."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean
from typing import Any

from pipeline.records import Grade


@dataclass(frozen=True, slots=True)
class Graded:
    """One grade of one episode; `score` None could not be had."""

    name: str
    score: float | None
    held_out: bool


def graded(grades: Iterable[Grade]) -> tuple[Graded, ...]:
    """The grades of the episode, those on turns left out; a score that is no finite number could not be had."""
    return tuple(
        Graded(one.name, one.score if one.score is not None and isfinite(one.score) else None, one.held_out)
        for one in grades
        if one.turn is None
    )


def grade_means(tries: Sequence[Sequence[Graded]], digits: int) -> dict[str, dict[str, Any]]:
    """By name: mean of the known scores over the tries that have the grade, share of nulls among them, held_out."""
    found: dict[str, list[Graded]] = {}
    for one in tries:
        for grade in one:
            found.setdefault(grade.name, []).append(grade)
    return {name: _figures(found[name], digits) for name in sorted(found)}


def _figures(grades: Sequence[Graded], digits: int) -> dict[str, Any]:
    known = [one.score for one in grades if one.score is not None]
    return {
        "mean": round(fmean(known), digits) if known else None,
        "null_rate": round(1 - len(known) / len(grades), digits),
        "held_out": any(one.held_out for one in grades),
    }


@dataclass(frozen=True, slots=True)
class GradeRow:
    """One grade over all models, in their order; None where a model has no score."""

    name: str
    held_out: bool
    means: tuple[float | None, ...]
    null_rate: float
    """The greatest of the models' shares of nulls."""


def grade_rows(models: Sequence[dict[str, dict[str, Any]]]) -> list[GradeRow]:
    """A row for each grade that some model has, given each model's `grade_means`."""
    names = sorted({name for found in models for name in found})
    return [
        GradeRow(
            name, any(found[name]["held_out"] for found in models if name in found),
            tuple(found[name]["mean"] if name in found else None for found in models),
            max(found[name]["null_rate"] for found in models if name in found),
        )
        for name in names
    ]  # fmt: skip
