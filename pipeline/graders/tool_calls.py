"""The process grades: were the demanded checks made before the decision, and was no call wasted?"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pipeline.graders.reward import ECONOMY, PROCEDURE
from pipeline.records import Grade

CallKey = tuple[str, str]
"""Tool name and canonical JSON text of its arguments."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Checks that the procedure demands before any of the decisions about one subject may be made."""

    subject: str
    checks: frozenset[CallKey]


def grade_procedure(calls: Sequence[CallKey], demands: Collection[Demand], decisions: dict[str, int]) -> Grade:
    """Share of demanded checks that were made before their decision.

    `calls` are those the environment answered, in order; `decisions[subject]` is the index in `calls` of the call that
    decided about that subject. A subject without a decision counts what was checked by the end.
    """
    wanted = sum(len(demand.checks) for demand in demands)
    missing: list[str] = []
    for demand in sorted(demands, key=lambda each: each.subject):
        before = set(calls[: decisions.get(demand.subject, len(calls))])
        missing += [f"{name} {arguments}" for name, arguments in sorted(demand.checks - before)]
    value = 1.0 if wanted == 0 else (wanted - len(missing)) / wanted
    reason = f"not checked before the decision: {', '.join(missing)}" if missing else "every demanded check was made"
    return Grade(PROCEDURE, "process", value, not missing, reason=reason)


def grade_economy(made: int, needed: int, refused: int = 0) -> Grade:
    """Share of the calls made that were not wasted: all but the refused or those beyond `needed`, whichever are more.

    `refused` of the calls made were refused. Without any refused this is `needed / made`, at most 1: who leaves
    something undone wastes nothing by that, it is for the other grades. Who makes no call at all where some are needed
    has saved nothing either: 0.
    """
    wasted = max(refused, made - needed, 0)
    value = (made - wasted) / made if made else float(needed == 0)
    reason = f"{made} calls where {needed} suffice" if made > needed else "no call was wasted"
    if made < needed:
        reason = f"{made or 'none'} of the {needed} calls that are needed"
    if refused:
        reason += f"; {refused} refused"
    return Grade(ECONOMY, "process", value, value == 1.0, reason=reason)
