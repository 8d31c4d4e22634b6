"""From grades to reward.

Grades are stored, rewards are not: other weights need no new rollouts. A grade without a score makes the reward null,
because a mean over the remaining grades would be another reward than that of the rollout's group.
"""

from collections.abc import Mapping, Sequence

from pipeline.records import Grade

OUTCOME = "outcome"
PROCEDURE = "procedure"
ECONOMY = "economy"


def score(grades: Sequence[Grade], name: str) -> float | None:
    """Score of the grade called `name`, in [0, 1] for ours; None when it is null or absent."""
    return next((grade.score for grade in grades if grade.name == name), None)


def outcome(grades: Sequence[Grade]) -> float | None:
    """Where the rollout ended: the score of the grade named outcome."""
    return score(grades, OUTCOME)


def process(grades: Sequence[Grade]) -> float | None:
    """How it got there: plain mean of the process grades; None when one is null or there is none."""
    scores = [grade.score for grade in grades if grade.kind == "process"]
    known = [value for value in scores if value is not None]
    return sum(known) / len(known) if known and len(known) == len(scores) else None


def reward(grades: Sequence[Grade], weights: Mapping[str, float]) -> float | None:
    """Weighted mean of the grades named in `weights`; None when any of them is null or absent."""
    total = 0.0
    for name in sorted(weights):
        value = score(grades, name)
        if value is None:
            return None
        total += weights[name] * value
    return total / sum(weights.values())


def success(grades: Sequence[Grade], success_at: float) -> bool | None:
    """Whether the outcome reaches `success_at`; None when the outcome is null."""
    value = outcome(grades)
    return None if value is None else value >= success_at
