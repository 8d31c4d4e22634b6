"""The entries of `graders` in params.yaml: one shape a kind, told apart by `kind`.

They lie below the graders themselves, because params know nothing of the rooms. `pipeline.graders.config` makes a
grader of each.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pipeline.records import GradeKind
from pipeline.section import Count, Positive, Rate, Section, Share

Name = Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$", max_length=60)]
"""Names a grade and, where it is watched in training, a column and a metric."""


class GraderEntry(Section):
    """What every entry has."""

    name: Name
    """The grade's name, as `reward.weights` calls it."""
    held_out: bool = False
    """True: watches only; an error where a reward names it."""
    environments: tuple[str, ...] = ()
    """Grades only episodes of these; empty: all, traces too."""
    pass_at: Share = 1.0
    """Score from which on the grade counts as passed."""
    counts_as: GradeKind = "process"
    """Whether it says where the episode ended or how it got there."""

    def gives(self) -> tuple[str, ...]:
        """Names of the grades of an episode that this entry gives."""
        return (self.name,)

    def workers(self) -> int:
        """Episodes that may be graded at once; above 1 only where a grader waits for somebody else's answer."""
        return 1


class GroupEntry(GraderEntry):
    """Kinds that judge the tries of one task against each other."""


class Condition(Section):
    """What a value must be; everything that is given must hold. Written as a mapping, see docs/graders.md."""

    equals: Any = None
    one_of: tuple[Any, ...] | None = None
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    contains: Any = None
    regex: str | None = None
    absent: bool | None = None
    same_as: Literal["golden", "initial"] | None = None


class StateParams(GraderEntry):
    """The final state, place by place, whichever way led there."""

    kind: Literal["state"]
    counts_as: GradeKind = "outcome"
    expect: Annotated[dict[str, Any], Field(min_length=1)]
    """Path (`orders.*.status`) to a value or a condition."""


class CallRule(Section):
    """Calls of one tool whose arguments meet conditions; an argument that is not named may be anything."""

    tool: Annotated[str, Field(min_length=1)]
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Argument to a value or a condition."""
    weight: Rate = 1.0


class OrderRule(Section):
    """Each call of `after` needs an earlier call of `before`, with equal values of the arguments in `same`."""

    before: CallRule
    after: CallRule
    same: tuple[str, ...] = ()
    weight: Rate = 1.0


class ToolCallsParams(GraderEntry):
    """Which calls were made, which not, and in which order."""

    kind: Literal["tool_calls"]
    required: tuple[CallRule, ...] = ()
    forbidden: tuple[CallRule, ...] = ()
    order: tuple[OrderRule, ...] = ()
    golden: bool = False
    """The task's golden calls are required, in any order."""
    repeats: Count | None = None
    """Calls that may repeat an earlier one and its answer; none given: any number."""
    failed: str = "^error: "
    """An answer that matches belongs to a call that was refused: it does not count as made where one is required."""

    @model_validator(mode="after")
    def _something(self) -> "ToolCallsParams":
        if not (self.required or self.forbidden or self.order or self.golden or self.repeats is not None):
            raise ValueError("nothing to grade; give required, forbidden, order, golden or repeats")
        return self


class TranscriptParams(GraderEntry):
    """Limits on the length of an episode."""

    kind: Literal["transcript"]
    max_turns: Positive | None = None
    max_calls: Count | None = None
    max_tokens: Positive | None = None

    @model_validator(mode="after")
    def _something(self) -> "TranscriptParams":
        if self.max_turns is None and self.max_calls is None and self.max_tokens is None:
            raise ValueError("no limit; give max_turns, max_calls or max_tokens")
        return self


class TextParams(GraderEntry):
    """The agent's final answer."""

    kind: Literal["text"]
    counts_as: GradeKind = "outcome"
    match: Literal["exact", "regex", "fuzzy", "number"]
    expected: str | float | None = None
    """What to find; or give `expected_at`."""
    expected_at: str | None = None
    """Path into the task whose value is expected: `golden.…`, `initial.…` or `knobs.…`."""
    ignore_case: bool = True
    whole: bool = False
    """Of regex and fuzzy: the whole answer must match, not a part of it. Exact always means the whole."""
    tolerance: Annotated[float, Field(ge=0)] = 0.0
    """Of number: the greatest allowed distance."""

    @model_validator(mode="after")
    def _one_expectation(self) -> "TextParams":
        if (self.expected is None) == (self.expected_at is None):
            raise ValueError("give either expected or expected_at")
        return self


class PythonParams(GraderEntry):
    """A function of yours."""

    kind: Literal["python"]
    function: Annotated[str, Field(pattern=r"^[^:]+\.py:[A-Za-z_][A-Za-z0-9_]*$")]
    """`file.py:function`, the file under pipeline/graders/own."""


GraderParams = Annotated[
    StateParams | ToolCallsParams | TranscriptParams | TextParams | PythonParams,
    Field(discriminator="kind"),
]
"""One entry of `graders`."""
