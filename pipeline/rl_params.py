"""The values of `rl` and `rft` in params.yaml."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.section import Count, Positive, Rate, Section, Share


class HorizonParams(Section):
    """The curriculum over the horizon."""

    rounds: Annotated[tuple[Positive, ...], Field(min_length=1)]
    every: Positive


class WindowParams(Section):
    """Where the Gaussian window over pass rates stands at the first and the last step, and how wide it is."""

    start: Share
    end: Share
    sigma: Annotated[float, Field(ge=0.001)]


class PoolsParams(Section):
    """Three pools by pass rate and the weight of a task in each: hard up to `hard`, normal up to `normal`, easy."""

    hard: Share
    normal: Share
    weights: tuple[Annotated[float, Field(ge=0)], Annotated[float, Field(ge=0)], Annotated[float, Field(ge=0)]]

    @model_validator(mode="after")
    def _in_order(self) -> "PoolsParams":
        if self.hard >= self.normal:
            raise ValueError(f"hard ends at {self.hard}, normal at {self.normal}; hard must end first")
        return self


class RetireParams(Section):
    """When a task counts as solved, and how many generation steps it rests before it is tried again."""

    at: Share
    tries: Positive
    probation: Positive


class SamplerParams(Section):
    """Which tasks are practised next."""

    kind: Literal["uniform", "signal", "pass_rate", "gaussian", "pools"]
    floor: Rate
    window: WindowParams
    pools: PoolsParams
    mixture: dict[str, Rate] | None
    retire: RetireParams | None
    skip_flat: bool


class ReprofileParams(Section):
    """When all tasks are tried anew during rl: every so many steps, or after looks at valid without gain; 0: never."""

    every: Count
    plateau: Count
    tries: Positive


class RlParams(Section):
    """Multi-turn reinforcement learning."""

    steps: Positive
    groups: Positive
    tries: Annotated[int, Field(ge=2)]
    updates: Positive
    learning_rate: Rate
    clip_low: Rate
    clip_high: Rate
    beta: Annotated[float, Field(ge=0)]
    max_rounds: Positive
    advantage: Literal["group", "centred"]
    normalise: Literal["none", "environment"]
    horizon: HorizonParams
    sampler: SamplerParams
    reprofile: ReprofileParams | None
    checkpoint_every: Positive
    valid_every: Positive
    valid_tries: Positive


class RftParams(Section):
    """Rejection-sampling fine-tuning, the rival of RL."""

    epochs: Positive
    learning_rate: Rate
