"""What to practise next: how long an episode may be, and which tasks.

The horizon grows in rounds (ScalingInter-RL of AgentGym-RL, arXiv 2509.08755): short episodes first teach the basic
moves, longer ones come when these hold. Tasks are drawn by the spread that their last groups promise: a
task that the policy always or never solves teaches nothing, one that it solves half of the time teaches most.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from pipeline.params import HorizonParams
from pipeline.records import JsonObject

MEMORY = 0.5
"""Weight of what was known about a task when a new group of it comes in: the policy has changed since."""
FLOOR = 0.02
"""Added to every task's weight, so that none is given up for good (the weight of p = 0.5 is 0.25)."""


def max_turns(step: int, horizon: HorizonParams) -> int:
    """Cap on the turns of an episode after `step` finished steps: `rounds[min(step // every, last)]`."""
    return horizon.rounds[min(step // horizon.every, len(horizon.rounds) - 1)]


@dataclass(slots=True)
class TaskSampler:
    """Draws tasks without replacement, with weight `p (1 - p) + FLOOR`.

    p is the posterior mean of the task's pass rate (Beta prior of one success and one failure) over its tries, older
    groups counting less by `MEMORY` each time. `successes` and `tries` start with what the profile measured.
    """

    task_ids: Sequence[str]
    successes: dict[str, float] = field(default_factory=dict)
    tries: dict[str, float] = field(default_factory=dict)

    def pass_rate(self, task_id: str) -> float:
        """What is expected of the next group of this task."""
        return (self.successes.get(task_id, 0.0) + 1) / (self.tries.get(task_id, 0.0) + 2)

    def draw(self, count: int, seed: int, without: Collection[str] = ()) -> list[str]:
        """Up to `count` different tasks, none of `without`; fewer when there are no more.

        Weighted sampling without replacement by exponential keys (Efraimidis and Spirakis, 2006).
        """
        rng = random.Random(seed)
        keys = {task: log(1.0 - rng.random()) / self._weight(task) for task in self.task_ids}
        left = [task for task in self.task_ids if task not in without]
        return sorted(left, key=lambda task: keys[task], reverse=True)[:count]

    def observe(self, task_id: str, successes: Sequence[bool | None]) -> None:
        """Take in a group's tries; unknown ones are left out, and a group without a known one changes nothing."""
        known = [success for success in successes if success is not None]
        if known:
            self.successes[task_id] = MEMORY * self.successes.get(task_id, 0.0) + sum(known)
            self.tries[task_id] = MEMORY * self.tries.get(task_id, 0.0) + len(known)

    def state(self) -> JsonObject:
        """What a checkpoint keeps."""
        return {"successes": dict(self.successes), "tries": dict(self.tries)}

    def restore(self, state: Mapping[str, Mapping[str, float]]) -> None:
        """Take over what `state` returned."""
        self.successes, self.tries = dict(state["successes"]), dict(state["tries"])

    def _weight(self, task_id: str) -> float:
        rate = self.pass_rate(task_id)
        return rate * (1 - rate) + FLOOR
