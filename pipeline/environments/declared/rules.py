"""The part of a spec that says how the work is done: the procedure, and habits of doing it wrong."""

from typing import Annotated

from pydantic import Field, model_validator

from pipeline.environments.declared.columns import Expr, Part, Text
from pipeline.environments.declared.names import Name, ToolName

Arguments = dict[Name, Expr]
"""Arguments of a call, each an expression."""


class Rule(Part):
    """One rule of a step: when it holds, the matter is decided by this call."""

    name: Name
    """What cases and habits call it."""
    when: Expr
    """A condition on the subject."""
    call: ToolName
    """The tool that settles the matter."""
    arguments: Arguments = {}
    """Its arguments."""


class Step(Part):
    """One step of the procedure: a demanded call, then rules; the first that holds decides."""

    call: ToolName
    """The tool that is to be called."""
    arguments: Arguments = {}
    """Its arguments; with `each` they see `item`."""
    each: Expr | None = None
    """A list: the call is demanded once for each `item` of it, in order."""
    when: Expr | None = None
    """The call is demanded only if this holds; the rules are looked at all the same."""
    rules: Annotated[tuple[Rule, ...], Field(max_length=20)] = ()
    """Rules that the call makes it possible to judge."""


class Habit(Part):
    """A way to go wrong, for the scripted agent that leaves traces."""

    skip: tuple[ToolName, ...] = ()
    """Steps that are not made, their rules not looked at."""
    ignore: tuple[Name, ...] = ()
    """Rules that are overlooked."""
    sees: dict[Name, Expr] = {}
    """Rules that are judged by another condition."""
    arguments: dict[Name, Arguments] = {}
    """Rules whose call gets other arguments."""
    again: ToolName | None = None
    """A step that is made once more, just before the decision."""


class Procedure(Part):
    """The rules of the work, in words for the agent and as steps for the grades."""

    text: Text
    """The system message of every episode."""
    subject: Name
    """Row name of the table whose rows get decided."""
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=60)]
    """What is to be done about a subject, in order, until a rule decides."""
    habits: Annotated[dict[Name, Habit], Field(max_length=60)] = {}
    """Ways to go wrong, for the scripted agent that leaves traces."""
    closing: Text = "Done: {decisions}."
    """The scripted agent's last message; `{decisions}` stands for the reports of what it decided."""

    @model_validator(mode="after")
    def _distinct(self) -> "Procedure":
        rules = [rule.name for step in self.steps for rule in step.rules]
        twice = sorted({name for name in rules if rules.count(name) > 1})
        if twice:
            raise ValueError(f"rules named twice: {', '.join(twice)}")
        if not rules:
            raise ValueError("no step has a rule, so nothing is ever decided; add one")
        return self
