"""Builds rollout rows for the tests of selection."""

from collections.abc import Sequence
from typing import Any

from pipeline.grader_params import RewardParams
from pipeline.records import Grade, StopReason
from pipeline.rows import grades_to_json

RULE = RewardParams(success_at=1.0, combine="weighted", required=(), weights={"outcome": 1.0})


def weighing(**weights: float) -> RewardParams:
    """A weighted mean of these grades."""
    return RULE.model_copy(update={"weights": weights})


def grades(outcome: float | None, **process: float | None) -> str:
    """Grades as JSON text: the outcome, and process grades by name."""
    return grades_to_json(
        (Grade("outcome", "outcome", outcome), *(Grade(name, "process", score) for name, score in process.items()))
    )


def row(task: str, number: int, text: str, stop: StopReason = StopReason.FINISHED, **other: Any) -> dict[str, Any]:
    """One rollout with the columns that `group_stats` reads."""
    return {
        "task_id": task, "environment": "claims", "template": "theft", "try_index": number, "model": "sft",
        "stop_reason": stop.value, "grades": text, "turn_count": 4, "token_count": 40,
    } | other  # fmt: skip


def group(task: str, outcomes: Sequence[float | None]) -> list[dict[str, Any]]:
    """A group of rollouts with these outcomes; None is a rollout that its environment broke."""
    return [
        row(task, number, grades(value), StopReason.ENVIRONMENT_ERROR if value is None else StopReason.FINISHED)
        for number, value in enumerate(outcomes)
    ]
