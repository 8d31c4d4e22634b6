"""Builds rollout rows for the tests of evaluation."""

from collections.abc import Sequence
from typing import Any

from pipeline.records import Grade, StopReason
from pipeline.rows import grades_to_json


def row(
    task: str,
    number: int,
    outcome: float | None,
    way: float | None = None,
    template: str = "theft",
    environment: str = "claims",
) -> dict[str, Any]:
    """One rollout with the columns that `collect` reads."""
    grades = (Grade("outcome", "outcome", outcome), Grade("procedure", "process", way))
    stop = StopReason.ENVIRONMENT_ERROR if outcome is None else StopReason.FINISHED
    return {
        "task_id": task, "environment": environment, "template": template, "try_index": number,
        "stop_reason": stop.value,        "grades": grades_to_json(grades), "turn_count": 3, "token_count": 30,
    }  # fmt: skip


def group(
    task: str, outcomes: Sequence[float | None], template: str = "theft", environment: str = "claims"
) -> list[dict[str, Any]]:
    """The tries of one task; None is a rollout that its environment broke."""
    return [
        row(task, number, value, template=template, environment=environment) for number, value in enumerate(outcomes)
    ]
