"""The entries of `graders` that ask a model: one shape a kind, told apart by `kind`."""

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from pipeline.grader_params import GraderEntry, GraderParams, GroupEntry, Name
from pipeline.remote.endpoint import Endpoint
from pipeline.section import Positive, Section

Question = Annotated[str, Field(min_length=1, max_length=4000)]
Text = Annotated[str, Field(min_length=1, max_length=400)]


class JudgeEntry(GroupEntry):
    """What every kind that asks a judge has."""

    judge: Endpoint
    """The model that judges. Its budget is for all episodes that a stage, or one round of rl, has judged by it."""
    show_procedure: bool = True
    """Whether the judge reads the rules that the agent was told."""
    longest: Annotated[int, Field(ge=1000)] = 40_000
    """Characters of one transcript that the judge reads; what is beyond is left out of its middle, and said so."""


class Dimension(Section):
    """One question about an episode, with its levels from worst to best."""

    name: Name
    question: Question
    levels: Annotated[tuple[Text, ...], Field(min_length=2, max_length=11)] = (
        "not at all", "a little", "half", "mostly", "fully",
    )  # fmt: skip
    """The lowest is score 0, the highest 1, the others lie evenly between."""


class RubricParams(JudgeEntry):
    """A judge's answers to questions about one episode, one call and one grade a dimension."""

    kind: Literal["rubric"]
    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1)]

    def gives(self) -> tuple[str, ...]:
        """`<name>_<dimension>` for each dimension."""
        return tuple(self.grade_name(dimension) for dimension in self.dimensions)

    def grade_name(self, dimension: Dimension) -> str:
        """What the dimension's grade is called."""
        return f"{self.name}_{dimension.name}"

    @model_validator(mode="after")
    def _each_once(self) -> "RubricParams":
        names = [dimension.name for dimension in self.dimensions]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two dimensions are called {twice!r}; rename one")
        return self


class PairwiseParams(JudgeEntry):
    """How often a try is the better one beside other tries of its task, each pair asked in both orders."""

    kind: Literal["pairwise"]
    question: Question
    """What better means."""
    opponents: Positive = 2
    """Pairs a try begins, with the tries behind it; it meets about twice as many."""


class RankingParams(JudgeEntry):
    """Scores from 0 to 1 for all tries of a task, given side by side in one call."""

    kind: Literal["group"]
    question: Question
    """What the tries are ranked by."""
    most: Positive = 16
    """Different tries in one call; of a larger group all scores are null."""


AnyGraderParams = Annotated[
    GraderParams | RubricParams | PairwiseParams | RankingParams,
    Field(discriminator="kind"),
]
"""One entry of `graders`, whether it asks a model or not."""


def entry_model(kind: str) -> type[GraderEntry] | None:
    """The shape of entries of `kind`; None for an unknown kind."""
    code: tuple[type[GraderEntry], ...] = get_args(get_args(GraderParams)[0])
    models: tuple[type[GraderEntry], ...] = (*code, RubricParams, PairwiseParams, RankingParams)
    return next((model for model in models if kind in get_args(model.model_fields["kind"].annotation)), None)
