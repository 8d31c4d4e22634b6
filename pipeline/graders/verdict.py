"""From a grader's score to its grade."""

from math import isfinite

from pipeline.grader_params import GraderEntry
from pipeline.records import Grade


def verdict(
    params: GraderEntry, score: float | None, reason: str, *, turn: int | None = None, weight: float | None = None,
    name: str | None = None,
) -> Grade:  # fmt: skip
    """A grade of the grader that `params` describes; `name` differs from its own for a part of its total.

    A score that is no finite number in [0, 1] could not be had: the grade is null and says so.
    """
    if score is not None and not (isfinite(score) and 0 <= score <= 1):
        score, reason = None, f"the score {score} lies outside 0 to 1 ({reason})"
    passed = None if score is None else score >= params.pass_at
    return Grade(name or params.name, params.counts_as, score, passed, turn, reason, weight, params.held_out)
