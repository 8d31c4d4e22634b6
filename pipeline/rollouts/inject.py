"""Tools that are slow or fail, to rehearse production: the world stays as it is, its answers come late or not at all.

What befalls a call is drawn from the seed of the rollout, its task, its try and the number of the call, never from a
clock: the same rollouts meet the same troubles on every machine. Waiting is real, the verdict on it is not measured: a
call whose drawn latency is above `rollouts.tool_timeout` is a time-out.
"""

import random
import time
from dataclasses import dataclass
from math import exp, log
from statistics import NormalDist

from pipeline.environments.tools import EnvironmentFault, ToolAnswer
from pipeline.params import InjectParams, LatencyParams

Z99 = NormalDist().inv_cdf(0.99)


@dataclass(frozen=True, slots=True)
class Injection:
    """The troubles of one rollout."""

    params: InjectParams
    timeout: float
    """Seconds that a call may take."""
    rollout: str
    """Names the rollout: all draws hang on it."""

    def strike(self, tool: str, number: int) -> ToolAnswer | None:
        """What the agent gets instead of an answer to its call `number` of the episode; None lets the call through.

        Sleeps for the call's latency. Raises EnvironmentFault for a time-out, and for a failure where params say so.
        """
        rng = random.Random(f"inject {self.rollout} {number}")
        seconds, failed = draw_latency(rng, self.params.latency), rng.random() < self.params.error_rate
        if seconds > 0:
            time.sleep(min(seconds, self.timeout))
        if seconds > self.timeout:
            raise EnvironmentFault(f"{tool}: no answer within {self.timeout} s (injected)", timed_out=True)
        if not failed:
            return None
        if self.params.error == "fault":
            raise EnvironmentFault(f"{tool}: failed (injected)")
        return ToolAnswer(f"error: {tool} is not available at the moment; try again", error=True)


def draw_latency(rng: random.Random, params: LatencyParams | None) -> float:
    """Seconds from the log-normal distribution with this median and 99th percentile; 0 without one."""
    if params is None:
        return 0.0
    return params.median * exp(rng.gauss(0.0, 1.0) * log(params.p99 / params.median) / Z99)
