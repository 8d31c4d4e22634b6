"""How a model in training does on the valid tasks: what the best checkpoint is chosen by."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pipeline.graders.reward import success
from pipeline.params import Params
from pipeline.records import Rollout, Task
from pipeline.rollouts.engine import Engine
from pipeline.rollouts.episodes import play
from pipeline.rollouts.places import Places
from pipeline.training.seeds import derive_seed


@dataclass(frozen=True, slots=True)
class ValidScore:
    """pass@1 on the valid tasks: of all of them, and of each environment's."""

    mean: float
    by_environment: dict[str, float]


def score_valid(engine: Engine, places: Places, tasks: Sequence[Task], params: Params) -> ValidScore:
    """pass@1 over `rl.valid_tries` tries at full horizon and temperature 1.

    The seed is always the same, so that looks and rivals are compared on equal draws.
    """
    tries = [(task, index) for task in tasks for index in range(params.rl.valid_tries)]
    seed = derive_seed(params.seed, "valid")
    rollouts = play(engine, places, tries, params.rollouts, model="in training", seed=seed, temperature=1.0)
    parts: dict[str, list[Rollout]] = {name: [] for name in places.by_name}
    for rollout in rollouts:
        parts[rollout.environment].append(rollout)
    success_at = params.reward.success_at
    known = {name: pass_at_1(part, success_at) for name, part in parts.items() if part}
    return ValidScore(pass_at_1(rollouts, success_at), known)


def pass_at_1(rollouts: Sequence[Rollout], success_at: float) -> float:
    """Mean over tasks of the share of successes among the tries whose outcome is known; 0 when none is known."""
    tasks: dict[str, list[bool]] = {}
    for rollout in rollouts:
        known = success(rollout.grades, success_at)
        if known is not None:
            tasks.setdefault(rollout.task_id, []).append(known)
    return fmean(fmean(successes) for successes in tasks.values()) if tasks else 0.0
