"""params.yaml as validated, frozen models.

Every value has one place and one type. An unknown key is an error with a did-you-mean, a wrong value names its path.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pipeline.curate_params import CurateParams, PivotParams
from pipeline.errors import ParamsError
from pipeline.filter_params import FilterParams, QuotaStep
from pipeline.grader_params import RewardParams, check_names
from pipeline.ingest_params import IngestParams
from pipeline.judge_params import AnyGraderParams
from pipeline.params_faults import explain
from pipeline.remote.endpoint import Endpoint, TeacherParams
from pipeline.rl_params import RftParams, RlParams
from pipeline.section import Count, Positive, Rate, Section, Share

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
"""Becomes part of a file name, so it holds nothing that a path could mean."""
PIVOT = "pivot"
"""Name of the environment of tasks made of traces alone; no other may have it."""


class DemoParams(Section):
    """The scripted agent whose runs the demo ingests."""

    enabled: bool
    groups: Positive
    tries: Positive
    skip: Share
    slip: Share


class EnvironmentsParams(Section):
    """The worlds that tasks are made for."""

    names: tuple[Name, ...]
    folder: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _each_once(self) -> "EnvironmentsParams":
        twice = next((name for name in self.names if self.names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice!r} is named twice in names; remove one")
        if PIVOT in self.names:
            raise ValueError(f"{PIVOT!r} names the tasks made of traces alone; rename your environment")
        return self


class SynthesizeParams(Section):
    """How many tasks and demonstrations are made."""

    train: Positive
    valid: Positive
    eval: Positive
    outside: Count
    demos: Count
    asides: Share
    contradictions: Share
    habits: dict[str, Share] = Field(default_factory=dict)
    teacher: TeacherParams | None = None
    pivots: PivotParams


class BaseParams(Section):
    """The model to start from."""

    model: str
    vocab_size: Annotated[int, Field(ge=300)]
    hidden_size: Positive
    layers: Positive
    heads: Positive
    head_dim: Positive
    intermediate_size: Positive
    max_positions: Positive


class SftParams(Section):
    """Supervised fine-tuning."""

    epochs: Positive
    batch_size: Positive
    optimizer: Literal["muon", "adamw"]
    matrix_rate: Rate
    learning_rate: Rate
    warmup: Share
    weight_decay: Annotated[float, Field(ge=0)]
    eval_every: Positive
    patience: Positive
    checkpoint_every: Positive


class LatencyParams(Section):
    """Quantiles in seconds of a log-normal distribution."""

    median: Rate
    p99: Rate

    @model_validator(mode="after")
    def _ordered(self) -> "LatencyParams":
        if self.p99 < self.median:
            raise ValueError(f"p99 is {self.p99}, below the median {self.median}")
        return self


class InjectParams(Section):
    """Troubles of production that tool calls meet."""

    latency: LatencyParams | None
    error_rate: Share
    error: Literal["answer", "fault"]


class RolloutParams(Section):
    """How episodes are run."""

    engine: Literal["transformers"]
    chunk: Positive
    slots: Positive
    max_turns: Positive
    max_new_tokens: Positive
    max_context: Positive
    max_malformed: Count
    temperature: Rate
    tool_timeout: Rate
    inject: InjectParams
    user: Endpoint | None = None


class AdaptiveParams(Section):
    """When a task has been tried enough."""

    first: Positive
    """Tries that every task gets."""
    step: Positive
    """Further tries of a task whose verdict is still open, until it has them all."""
    window: tuple[Share, Share]
    """Pass rates between which a task is kept: what the verdict is about."""

    @model_validator(mode="after")
    def _ordered(self) -> "AdaptiveParams":
        if self.window[0] > self.window[1]:
            raise ValueError(f"window begins at {self.window[0]}, above its end {self.window[1]}")
        return self


class ProfileParams(Section):
    """Measuring pass rates before training."""

    tries: Annotated[int, Field(ge=2)]
    tasks: Count
    retries: Count
    adaptive: AdaptiveParams | None


class EvaluateParams(Section):
    """Measuring what became better or worse."""

    tries: Positive
    k: Positive
    bootstrap: Positive
    confidence: Annotated[float, Field(gt=0, lt=1)]

    @model_validator(mode="after")
    def _enough_tries(self) -> "EvaluateParams":
        if self.k > self.tries:
            raise ValueError(f"k is {self.k} but only {self.tries} tries are made; lower k or raise tries")
        return self


class Params(Section):
    """All of params.yaml."""

    preset: str
    seed: Count
    environments: EnvironmentsParams
    demo: DemoParams
    ingest: IngestParams
    synthesize: SynthesizeParams
    curate: CurateParams
    base: BaseParams
    sft: SftParams
    rollouts: RolloutParams
    graders: tuple[AnyGraderParams, ...]
    reward: RewardParams
    profile: ProfileParams
    filter: FilterParams
    rl: RlParams
    rft: RftParams
    evaluate: EvaluateParams

    @model_validator(mode="after")
    def _grades_have_names(self) -> "Params":
        check_names(self.graders, self.reward)
        return self

    @model_validator(mode="after")
    def _something_to_practise(self) -> "Params":
        if not self.environments.names and not self.synthesize.pivots.enabled:
            raise ValueError(
                "environments.names is empty, so there is nothing to practise; name one, or set "
                "synthesize.pivots.enabled to true to make tasks of traces"
            )
        return self

    @model_validator(mode="after")
    def _environments_are_practised(self) -> "Params":
        practised = (*self.environments.names, *((PIVOT,) if self.synthesize.pivots.enabled else ()))
        quotas = [tuple(step.most) for step in self.filter.steps if isinstance(step, QuotaStep)]
        named = [("most of a quota in filter.steps", names) for names in quotas]
        for where, names in (*named, ("rl.sampler.mixture", tuple(self.rl.sampler.mixture or ()))):
            stray = next((name for name in names if name not in practised), None)
            if stray is not None:
                raise ValueError(f"{where} names environment {stray!r}; there are {', '.join(practised)}")
        return self


def load_params(path: Path = Path("params.yaml")) -> Params:
    """Read and validate `path`. Raises ParamsError with one line for each fault."""
    try:
        raw = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ParamsError(f"{path}: no such file; run in the project's folder") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ParamsError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    return parse_params(raw, str(path))


def parse_params(raw: Any, where: str = "params.yaml") -> Params:
    """Validate an already parsed document. Raises ParamsError."""
    try:
        return Params.model_validate(raw)
    except ValidationError as error:
        raise ParamsError("; ".join(explain(Params, where, fault) for fault in error.errors())) from error
