"""From rewards to advantages: how much better than its group a rollout was.

A null reward takes no part: it has no advantage, and the mean and the spread of its group are those of the others.
The spread is a property of the whole group (population standard deviation), never of single rows.
"""

from collections import defaultdict
from collections.abc import Sequence
from math import sqrt
from typing import Literal

GROUP_EPSILON = 1e-4
"""Keeps a nearly flat group finite; TRL's value."""
ENVIRONMENT_EPSILON = 1e-6
"""The same for a whole environment; AgentRL's value."""

Scale = Literal["group", "centred"]


def spread(rewards: Sequence[float | None]) -> float | None:
    """Population standard deviation of the known rewards; None when none is known."""
    known = [reward for reward in rewards if reward is not None]
    return _moments(known, [1] * len(known))[1] if known else None


def group_advantages(rewards: Sequence[float | None], scale: Scale) -> list[float | None]:
    """Advantage of each of a group's rollouts; None where the reward is null.

    `group`: `(R - mean) / (std + 1e-4)` (GRPO, arXiv 2402.03300); `centred`: `R - mean` (Dr. GRPO, arXiv 2503.20783).
    """
    known = [reward for reward in rewards if reward is not None]
    if not known:
        return [None] * len(rewards)
    mean, std = _moments(known, [1] * len(known))
    divisor = std + GROUP_EPSILON if scale == "group" else 1.0
    return [None if reward is None else (reward - mean) / divisor for reward in rewards]


def normalise_by_environment(
    advantages: Sequence[float], environments: Sequence[str], tokens: Sequence[int]
) -> list[float]:
    """Task advantage normalisation (AgentRL, arXiv 2510.04206): `(A - mu_i) / (sigma_i + 1e-6)` within environment i.

    mu and the population sigma are taken over the action tokens of the batch: a rollout counts once for each of its
    sampled `tokens`. With a single environment this is whitening.
    """
    members = defaultdict(list)
    for index, environment in enumerate(environments):
        members[environment].append(index)
    moments = {
        environment: _moments([advantages[i] for i in indices], [tokens[i] for i in indices])
        for environment, indices in members.items()
    }
    return [
        (advantage - moments[environment][0]) / (moments[environment][1] + ENVIRONMENT_EPSILON)
        for advantage, environment in zip(advantages, environments, strict=True)
    ]


def _moments(values: Sequence[float], weights: Sequence[int]) -> tuple[float, float]:
    """Weighted mean and population standard deviation."""
    total = sum(weights) or 1
    mean = sum(value * weight for value, weight in zip(values, weights, strict=True)) / total
    variance = sum(weight * (value - mean) ** 2 for value, weight in zip(values, weights, strict=True)) / total
    return mean, sqrt(variance)
