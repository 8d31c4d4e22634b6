"""A declared environment as validated, frozen models: what one YAML file may say."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.environments.declared.columns import Bound, Draw, Expr, Part, Scalar, Table, Text
from pipeline.environments.declared.names import Dotted, Name, ToolName

Constant = Scalar | tuple[Scalar, ...] | dict[str, Scalar | tuple[Scalar, ...]]
Arguments = dict[Name, Expr]
"""Arguments of a call, each an expression."""


class Parameter(Part):
    """One parameter of a tool: the id of a row (`key`), or a plain value."""

    about: Text
    key: Name | None = None
    """Table whose row the value names; the row is then in scope, under the parameter's name without `_id`."""
    type: Literal["string", "int", "float", "bool"] = "string"
    enum: Annotated[tuple[str, ...], Field(max_length=100)] | None = None


class Requirement(Part):
    """What must hold before a tool does anything; otherwise the agent is told `otherwise`."""

    that: Expr
    otherwise: Expr


class Insert(Part):
    """A new row; its id is an expression, so that equal deeds in another order end in equal states."""

    table: Name
    id: Expr
    row: dict[Name, Expr] = {}


class Tool(Part):
    """One tool. Expressions see the parameters, the rows they name, what these refer to, and the constants."""

    about: Text
    parameters: Annotated[dict[Name, Parameter], Field(max_length=20)] = {}
    requires: Annotated[tuple[Requirement, ...], Field(max_length=20)] = ()
    change: dict[Dotted, Expr] = {}
    """Columns that change, and their new values, all computed before any is changed."""
    insert: Insert | None = None
    returns: Expr
    """Text of the answer, as it stands after the change."""
    returns_about: Text
    report: Text | None = None
    """What the scripted agent says it has done, such as "approved"; absent: the tool's name."""
    demanded: bool = True
    """False: the procedure never demands a call of it; skipping one costs nothing but what one does not learn."""
    decides: Name | None = None
    """The parameter whose row this call decides about: the procedure's checks are due before it."""


class Rule(Part):
    """One rule of a step: when it holds, the matter is decided by this call."""

    name: Name
    when: Expr
    call: ToolName
    arguments: Arguments = {}


class Step(Part):
    """One step of the procedure: a demanded call, then rules; the first that holds decides."""

    call: ToolName
    arguments: Arguments = {}
    each: Expr | None = None
    """A list: the call is demanded once for each `item` of it, in order."""
    when: Expr | None = None
    """The call is demanded only if this holds; the rules are looked at all the same."""
    rules: Annotated[tuple[Rule, ...], Field(max_length=20)] = ()


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
    subject: Name
    """Row name of the table whose rows get decided."""
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=60)]
    habits: dict[Name, Habit] = {}
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


class Case(Part):
    """A kind of subject: what is drawn otherwise, and the rule that is to decide."""

    rule: Name
    draw: dict[Dotted, Draw] = {}
    traffic: Annotated[float, Field(ge=0)] = 1.0
    """How often the scripted agent's desk sees it, in proportion."""


class Call(Part):
    """A call made before the subjects are looked at, such as a search for them."""

    call: ToolName
    arguments: Arguments = {}


class Template(Part):
    """Tasks of one make: a root row and all it creates, the subjects in it, and a question."""

    root: Name
    """Table of the row that is created first."""
    subjects: Expr
    """Ids of the rows to decide about, in order."""
    cases: Annotated[tuple[Name, ...], Field(max_length=200)] | None = None
    """Cases to draw each subject from; absent: all of them."""
    draw: dict[Dotted, Draw] = {}
    """What is drawn otherwise."""
    knobs: dict[Name, tuple[Bound, Bound]] = {}
    """Whole numbers drawn for each task, recorded on it, visible in expressions; they replace the spec's own."""
    opening: Annotated[tuple[Call, ...], Field(max_length=20)] = ()
    ask: Name
    """The list of phrases that the question is taken from."""
    each_case: bool = False
    """Make one template of each case, named like it."""
    traffic: Annotated[float, Field(ge=0)] = 1.0
    """How often the scripted agent's desk sees it, in proportion."""


class Asking(Part):
    """Phrases of a question; `{claim.id}` stands for a column of the root or of the first subject."""

    phrases: Annotated[tuple[Text, ...], Field(min_length=1, max_length=500)]
    held_out: Annotated[tuple[Text, ...], Field(max_length=500)] = ()
    """Phrases that only valid and eval use."""


class Spec(Part):
    """A whole environment."""

    name: Name
    about: Text
    constants: Annotated[dict[Name, Constant], Field(max_length=200)] = {}
    knobs: dict[Name, tuple[Bound, Bound]] = {}
    tables: Annotated[dict[Name, Table], Field(min_length=1, max_length=60)]
    tools: Annotated[dict[ToolName, Tool], Field(min_length=1, max_length=60)]
    procedure: Procedure
    cases: Annotated[dict[Name, Case], Field(min_length=1, max_length=200)]
    templates: Annotated[dict[Name, Template], Field(min_length=1, max_length=200)]
    ask: Annotated[dict[Name, Asking], Field(min_length=1, max_length=60)]
    bystanders: Annotated[int, Field(ge=0, le=20)] = 0
    """Further roots of a random template that a task's state holds, which nobody asks about."""
    asides: Annotated[tuple[Text, ...], Field(max_length=200)] = ()
    """Sentences beside the point; see `synthesize.asides`."""
    contradictions: Annotated[tuple[Text, ...], Field(max_length=200)] = ()
    """Claims of the asker that the records do not bear out; the records win. See `synthesize.contradictions`."""
