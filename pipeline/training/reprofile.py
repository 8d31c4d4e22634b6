"""Trying all tasks anew while training: what the profile measured grows stale as the policy learns.

Due every `rl.reprofile.every` generation steps, or once so many looks at valid in a row brought no better model. The
rollouts are in the ledger, none is trained on; the sampler forgets what it knew and starts from them.
"""

from collections.abc import Mapping, Sequence

from pipeline.graders.reward import rewards, success
from pipeline.params import Params
from pipeline.records import Rollout, Task
from pipeline.rl_params import ReprofileParams
from pipeline.selection.sampler import TaskSampler
from pipeline.training.collect import Play, Reason, Tried
from pipeline.training.rl_history import HistoryRow
from pipeline.training.seeds import derive_seed


def is_due(done: int, history: Sequence[HistoryRow], rule: ReprofileParams | None) -> bool:
    """Whether all tasks are to be tried before the step after `done` finished ones. `history` is that of these."""
    if rule is None or done == 0:
        return False
    if rule.every and done % rule.every == 0:
        return True
    return bool(rule.plateau) and _looks_without_gain(history) >= rule.plateau


def _looks_without_gain(history: Sequence[HistoryRow]) -> int:
    """Looks at valid since the last that was better than all before, or since the last reprofile.

    An equal look is no gain, although its model is kept as the best: a score that stands still is a plateau.
    """
    best, looks = -1.0, 0
    for row in history:
        looks = 0 if row["reprofiled"] else looks
        if (score := row["valid_pass_at_1"]) is not None:
            best, looks = (score, 0) if score > best else (best, looks + 1)
    return looks


def reprofile(
    done: int, sampler: TaskSampler, tasks: Mapping[str, Task], play: Play, params: Params, tries: int
) -> list[Tried]:
    """Play `tries` rollouts of every task and let the sampler know. The rollouts are in the order of tasks."""
    todo = [(task, number) for task in tasks.values() for number in range(tries)]
    size = max(1, params.rollouts.chunk // tries) * tries  # whole groups: some graders compare the tries of a task
    rollouts: list[Rollout] = []
    for number, start in enumerate(range(0, len(todo), size)):
        rollouts += play(todo[start : start + size], derive_seed(params.seed, "reprofile", done, number))
    measured: list[Tried] = []
    for start in range(0, len(rollouts), tries):
        group = rollouts[start : start + tries]
        known = [success(rollout.grades, params.reward.success_at) for rollout in group]
        sampler.renew(group[0].task_id, known, done)
        values = rewards([rollout.grades for rollout in group], params.reward)
        measured += [Tried(one, 0, value, Reason.REPROFILED) for one, value in zip(group, values, strict=True)]
    return measured
