"""The steps of `filter` in params.yaml, one shape a kind. `pipeline.selection.filters` makes a filter of each."""

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from pipeline.section import Count, Positive, Rate, Section, Share

Portion = Annotated[float, Field(gt=0, le=1)]

Recipe = Literal[
    "dapo", "prime", "skywork_or1", "polaris", "qwen2_5_math", "olmo3", "llama_nemotron", "minimax_m1", "deepseek_v3_2",
    "scale_rl", "nemotron3_nano",
]  # fmt: skip
"""Published windows of pass rates, see `pipeline.selection.recipes`."""


class TooFewValidStep(Section):
    """Drops groups in which too few rewards are known: a fault of the measurement, never a hard task."""

    kind: Literal["too_few_valid"]
    least: Annotated[int, Field(ge=2)]


class SpreadStep(Section):
    """Drops groups whose rewards barely differ."""

    kind: Literal["spread"]
    above: Annotated[float, Field(ge=0)] = 1e-6
    """Population standard deviation that a group must exceed, whatever else is asked."""
    score: Literal["std", "variance"] = "std"
    """What groups are ranked by, both of the population."""
    top_share: Portion | None = None
    """RAGEN: this share of the groups that are asked, those of the highest score."""
    top_mass: Portion | None = None
    """RAGEN-2: the fewest groups of the highest score that hold this share of the sum of all scores."""
    slack: Annotated[float, Field(ge=0)] = 0.01
    """By how much their sum may fall short of `top_mass`; RAGEN-2's epsilon."""

    @model_validator(mode="after")
    def _one_rank(self) -> "SpreadStep":
        if self.top_share is not None and self.top_mass is not None:
            raise ValueError("give top_share or top_mass, not both; a second entry of kind spread may have the other")
        return self


class PassRateStep(Section):
    """Drops groups that succeed too seldom or too often."""

    kind: Literal["pass_rate"]
    window: tuple[Share, Share] | None = None
    """Lowest and highest pass rate that is kept, both ends inside."""
    recipe: Recipe | None = None
    """Or the window of a published recipe."""

    @model_validator(mode="after")
    def _one_window(self) -> "PassRateStep":
        if (self.window is None) == (self.recipe is None):
            raise ValueError("give either window or recipe")
        if self.window is not None and self.window[0] > self.window[1]:
            raise ValueError(f"window begins at {self.window[0]}, above its end {self.window[1]}")
        return self


class BrokenStep(Section):
    """Drops tasks that are broken rather than hard."""

    kind: Literal["broken"]
    never_solved: bool = True
    """Tasks that no try solves."""
    least: Positive = 1
    """Tries with an outcome before a task counts as never solved."""
    golden: bool = False
    """Tasks whose golden calls do not earn the full outcome when they are run again; needs their environment."""


class TooLongStep(Section):
    """Drops tasks whose episodes are too long to practise."""

    kind: Literal["too_long"]
    max_turns: Rate | None = None
    """Mean turns of a try."""
    max_tokens: Rate | None = None
    """Mean sampled tokens of a try."""
    max_cut: Share | None = None
    """Share of the tries that a limit on turns, tokens or context ended."""

    @model_validator(mode="after")
    def _something(self) -> "TooLongStep":
        if self.max_turns is None and self.max_tokens is None and self.max_cut is None:
            raise ValueError("no limit; give max_turns, max_tokens or max_cut")
        return self


class NearDuplicateStep(Section):
    """Keeps of tasks that say nearly the same the one whose rewards are spread most."""

    kind: Literal["near_duplicate"]
    similarity: Annotated[float, Field(ge=0.5, le=1)]
    """Jaccard similarity of the sets of three consecutive words, from which on two tasks count as one.

    Less is refused, because pairs below 0.5 are not found but by luck, see `pipeline.selection.near`.
    """
    text: Annotated[tuple[Literal["question", "initial_state", "golden_calls"], ...], Field(min_length=1)] = (
        "question", "golden_calls",
    )  # fmt: skip
    """What of a task is compared."""


class QuotaStep(Section):
    """Bounds how many groups of an environment are kept."""

    kind: Literal["quota"]
    most: Annotated[dict[str, Count], Field(min_length=1)]
    """Groups by environment; one that is not named has no bound."""
    by: Literal["spread", "lot"] = "lot"
    """Which are kept: those whose rewards are spread most, or some by lot, always the same."""


FilterStep = Annotated[
    TooFewValidStep | SpreadStep | PassRateStep | BrokenStep | TooLongStep | NearDuplicateStep | QuotaStep,
    Field(discriminator="kind"),
]
"""One entry of `filter.steps`."""


class FilterParams(Section):
    """Which tasks carry a learning signal."""

    steps: tuple[FilterStep, ...]
    """Asked in this order; the first that objects gives the reason."""
    keep_solved: Share


def step_model(kind: str) -> type[Section] | None:
    """The shape of steps of `kind`; None for an unknown kind."""
    models: tuple[type[Section], ...] = get_args(get_args(FilterStep)[0])
    return next((model for model in models if kind in get_args(model.model_fields["kind"].annotation)), None)
