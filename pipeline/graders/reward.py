"""From grades to reward.

Grades are stored, rewards are not: other weights need no new rollouts. A grade without a score makes the reward null,
because a mean over the remaining grades would be another reward than that of the rollout's group. A grade that no try
of a task has takes no part, so that environments with different grades can be practised together; one that only some
tries have is null for the others. Grades on turns explain; only those of the episode count.
"""

from collections.abc import Iterable, Mapping, Sequence

from pipeline.errors import ParamsError
from pipeline.grader_params import RewardParams
from pipeline.records import Grade

OUTCOME = "outcome"
PROCEDURE = "procedure"
ECONOMY = "economy"
HELD_OUT = "held_out_"
"""Begins the column, in plots/rl.csv, and the metric of a grade that only watches."""


def find(grades: Sequence[Grade], name: str) -> Grade | None:
    """The episode's grade called `name`; None when there is none."""
    return next((grade for grade in grades if grade.name == name and grade.turn is None), None)


def score(grades: Sequence[Grade], name: str) -> float | None:
    """Score of the episode's grade called `name`, in [0, 1] for ours; None when it is null or absent."""
    grade = find(grades, name)
    return None if grade is None else grade.score


def outcome(grades: Sequence[Grade]) -> float | None:
    """Where the rollout ended: the score of the grade named outcome."""
    return score(grades, OUTCOME)


def process(grades: Sequence[Grade]) -> float | None:
    """How it got there: plain mean of the episode's process grades, those held out aside.

    None when one is null or there is none.
    """
    counted = (grade for grade in grades if grade.kind == "process" and grade.turn is None and not grade.held_out)
    scores = [grade.score for grade in counted]
    known = [value for value in scores if value is not None]
    return sum(known) / len(known) if known and len(known) == len(scores) else None


def weighted(grades: Sequence[Grade], weights: Mapping[str, float]) -> float | None:
    """Weighted mean of the grades named in `weights`; None when one of them is null, or none with a weight is there."""
    total = share = 0.0
    for name in sorted(weights):
        grade = find(grades, name)
        if grade is None:
            continue
        if grade.score is None:
            return None
        total += weights[name] * grade.score
        share += weights[name]
    return total / share if share > 0 else None


def passed(grade: Grade) -> bool | None:
    """Whether the grade is a pass: its own word, else a full score; None when it is null."""
    if grade.score is None:
        return None
    return grade.score >= 1.0 if grade.passed is None else grade.passed


def reward(grades: Sequence[Grade], rule: RewardParams) -> float | None:
    """The reward by `rule.combine`; None when any grade it hangs on is null.

    weighted: the weighted mean. all: 1 when every grade with a weight above 0 passed, else 0. hybrid: the weighted mean
    when every grade in `rule.required` passed, else 0.
    """
    mean = weighted(grades, rule.weights)
    if mean is None or rule.combine == "weighted":
        return mean
    needed = rule.required if rule.combine == "hybrid" else [name for name, weight in rule.weights.items() if weight]
    verdicts = [passed(grade) for name in needed if (grade := find(grades, name)) is not None]
    if None in verdicts:
        return None
    if not all(verdicts):
        return 0.0
    return 1.0 if rule.combine == "all" else mean


def rewards(group: Sequence[Sequence[Grade]], rule: RewardParams) -> list[float | None]:
    """Rewards of the tries of one task, given their grades; None for a try that lacks a grade which another one has."""
    wanted = {name for grades in group for name in scored_names(grades, rule)}
    return [reward(grades, rule) if wanted <= usable_names(grades) else None for grades in group]


def scored_names(grades: Sequence[Grade], rule: RewardParams) -> set[str]:
    """Names of the grades that the reward hangs on and that have a score."""
    return {name for name in rule.names() if score(grades, name) is not None}


def check_given(rule: RewardParams, given: Iterable[str]) -> None:
    """Raises ParamsError when the reward hangs on a grade that is not among the names of those that rollouts have."""
    known = sorted(set(given))
    absent = [name for name in rule.names() if name not in known]
    if absent:
        raise ParamsError(
            f"params.yaml: reward: nothing gives a grade named {absent[0]!r}; known are {', '.join(known) or 'none'}; "
            "correct weights and required, or add it to `graders`"
        )


def usable_names(grades: Iterable[Grade]) -> set[str]:
    """Names of the episode grades that a reward may hang on: those that are not held out."""
    return {grade.name for grade in grades if grade.turn is None and not grade.held_out}


def success(grades: Sequence[Grade], success_at: float) -> bool | None:
    """Whether the outcome reaches `success_at`; None when the outcome is null."""
    value = outcome(grades)
    return None if value is None else value >= success_at
