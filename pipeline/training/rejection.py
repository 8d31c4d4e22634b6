"""Rejection sampling: what is imitated when a model learns from its own successes.

The honest rival of reinforcement learning (STaR, arXiv 2203.14465; RFT, arXiv 2308.01825): the same tasks, as many
rollouts of the same model, but only successes are kept and imitated, each distinct one once a task.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import ceil

from pipeline.graders.reward import success
from pipeline.records import Rollout
from pipeline.training.sft import TokenRow


class Fate(StrEnum):
    """What became of a rollout."""

    KEPT = "kept"
    """A success that no earlier try of its task sampled token by token."""
    FAILURE = "failure"
    """Its outcome is below `reward.success_at`."""
    NULL_OUTCOME = "null_outcome"
    """Its outcome could not be had."""
    DUPLICATE = "duplicate"
    """An earlier try of the same task sampled the same tokens."""


def tries_for(rollouts: int, tasks: int) -> int:
    """Tries a task so that at least `rollouts` are made."""
    return ceil(rollouts / tasks)


def judge(rollouts: Iterable[Rollout], success_at: float) -> list[Fate]:
    """The fate of each rollout, in order."""
    seen: set[tuple[str, tuple[tuple[int, ...], ...]]] = set()
    fates = []
    for rollout in rollouts:
        known = success(rollout.grades, success_at)
        sampled = (rollout.task_id, tuple(turn.token_ids for turn in rollout.turns))
        if known is None:
            fate = Fate.NULL_OUTCOME
        elif not known:
            fate = Fate.FAILURE
        else:
            fate = Fate.DUPLICATE if sampled in seen else Fate.KEPT
            seen.add(sampled)
        fates.append(fate)
    return fates


def token_row(rollout: Rollout) -> TokenRow:
    """What is trained on: exactly the ids that the model saw and sampled."""
    ids, mask = list(rollout.prompt_ids), [0] * len(rollout.prompt_ids)
    for number, turn in enumerate(rollout.turns):
        seen: Sequence[int] = turn.observation_ids if number + 1 < len(rollout.turns) else ()
        ids += [*turn.token_ids, *seen]
        mask += [1] * len(turn.token_ids) + [0] * len(seen)
    return TokenRow(tuple(ids), tuple(mask))
