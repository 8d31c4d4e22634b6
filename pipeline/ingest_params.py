"""The values of `ingest` in params.yaml: which score is the reward, later scores, personal data, graders."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.condition import Pattern
from pipeline.grader_params import check_given_once, held_out_names
from pipeline.judge_params import AnyGraderParams
from pipeline.section import Count, Positive, Section

Kind = Literal["email", "phone", "credit_card", "iban", "ip_address", "us_ssn"]
"""Kinds of personal data that are known, see docs/privacy.md for what each finds."""
PatternName = Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$", max_length=40)]
"""Names a declared pattern and, in capitals, its placeholders."""


class ScoreAsReward(Section):
    """Which of a trace's scores is its reward."""

    name: Annotated[str, Field(min_length=1)]
    higher_is_better: bool
    """False: the reward is 1 - score, so that a perfect 0 becomes 1."""


class PrivacyParams(Section):
    """Personal data that is replaced as a trace is read."""

    enabled: bool = False
    kinds: tuple[Kind, ...] = ("email", "phone", "credit_card", "iban", "ip_address", "us_ssn")
    regions: tuple[Annotated[str, Field(pattern="^[A-Z]{2}$")], ...] = ("US", "GB")
    """Countries whose phone numbers are found without their country code (ISO 3166, two letters)."""
    patterns: dict[PatternName, Pattern] = Field(default_factory=dict)
    """Regular expressions of your own, by the name of what they find."""

    @model_validator(mode="after")
    def _something(self) -> "PrivacyParams":
        if self.enabled and not (self.kinds or self.patterns):
            raise ValueError("nothing to look for; name kinds or patterns, or set enabled to false")
        taken = sorted({*self.kinds} & {*self.patterns})
        if taken:
            raise ValueError(f"{taken[0]!r} is a kind and a pattern; rename the pattern")
        return self


class IngestParams(Section):
    """What is read, and what is made of it."""

    max_line_mb: Positive
    workers: Count = 0
    """Processes that read; 0: as many as there are cores. Their number changes no result."""
    compress: bool = False
    """Whether the messages in the table are compressed."""
    reward: ScoreAsReward | None = None
    scores: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]*(/[A-Za-z0-9_][A-Za-z0-9_-]*)*$")] = "scores"
    """Folder below data/raw that holds scores that arrive later, and no traces."""
    privacy: PrivacyParams = PrivacyParams()
    graders: tuple[AnyGraderParams, ...] = ()
    """Graders of traces, in the form of the entries of `graders`."""

    @property
    def grader_text(self) -> str:
        """JSON text of params with the same graders, for what is made once in each process."""
        return self.model_dump_json(include={"max_line_mb", "graders"})

    @model_validator(mode="after")
    def _grades_have_names(self) -> "IngestParams":
        check_given_once(self.graders)
        stray = next((entry for entry in self.graders if entry.environments), None)
        if stray is not None:
            raise ValueError(f"graders: {stray.name!r} names environments, but traces belong to none; leave them out")
        if self.reward is not None and self.reward.name in held_out_names(self.graders):
            raise ValueError(f"reward: {self.reward.name!r} is held out of every reward; set its held_out to false")
        return self
