"""A declared environment as validated, frozen models: what one YAML file may say."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from pipeline.environments.declared.columns import Draw, Expr, Part, Range, Scalar, Table, Text
from pipeline.environments.declared.names import Dotted, Name, ToolName
from pipeline.environments.declared.rules import Arguments, Procedure
from pipeline.environments.users import UserScript

Constant = Scalar | tuple[Scalar, ...] | dict[str, Scalar | tuple[Scalar, ...]]
_SECTIONS = re.compile(r"\b(Args|Returns|Raises):|\(choices:")
"""What would be read as a part of its own in the docstring that a tool's schema is made from."""


def check_about(text: str) -> str:
    """Return `text`. Raises ValueError when it would break the docstring of its tool."""
    found = _SECTIONS.search(text)
    if found is not None:
        raise ValueError(f"{found.group()!r} would be taken for a heading of the tool's docstring; say it otherwise")
    return text


About = Annotated[Text, AfterValidator(check_about)]
Choice = Annotated[str, Field(min_length=1, max_length=200)]
Shares = Annotated[float, Field(ge=0, le=1_000_000)]


class Parameter(Part):
    """One parameter of a tool: the id of a row (`key`), or a plain value."""

    about: About
    """What the agent is told of it."""
    key: Name | None = None
    """Table whose row the value names; the row is then in scope, under the parameter's name without `_id`."""
    type: Literal["string", "int", "float", "bool"] = "string"
    """Type of a plain value."""
    enum: Annotated[tuple[Choice, ...], Field(min_length=1, max_length=100)] | None = None
    """The only texts that are allowed."""

    @model_validator(mode="after")
    def _one_kind(self) -> "Parameter":
        if self.key is not None and (self.enum is not None or self.type != "string"):
            raise ValueError("a parameter that names a row (key) is text and takes no enum")
        if self.enum is not None and self.type != "string":
            raise ValueError(f"an enum lists texts, so the type cannot be {self.type}")
        if self.enum is not None and len(set(self.enum)) < len(self.enum):
            raise ValueError("a value of enum stands there twice")
        return self


class Requirement(Part):
    """What must hold before a tool does anything; otherwise the agent is told `otherwise`."""

    that: Expr
    """A condition."""
    otherwise: Expr
    """Text for the agent where it does not hold; an expression, so plain words stand in quotes of their own."""


class Insert(Part):
    """A new row; its id is an expression, so that equal deeds in another order end in equal states."""

    table: Name
    """Table that gets the row."""
    id: Expr
    """Its id; a call that would make an id that exists is refused."""
    row: dict[Name, Expr] = {}
    """Its columns; those that have a `start` may be left out."""


class Tool(Part):
    """One tool. Expressions see the parameters, the rows they name, what these refer to, and the constants."""

    about: About
    """What the agent is told of it."""
    parameters: Annotated[dict[Name, Parameter], Field(max_length=20)] = {}
    """What it is called with, all of it required."""
    requires: Annotated[tuple[Requirement, ...], Field(max_length=20)] = ()
    """What must hold, checked in order."""
    change: dict[Dotted, Expr] = {}
    """Columns that change, and their new values, all computed before any is changed."""
    insert: Insert | None = None
    """A row that is added."""
    returns: Expr
    """Text of the answer, as it stands after the change."""
    returns_about: About
    """What the agent is told of the answer."""
    report: Text | None = None
    """What the scripted agent says it has done, such as "approved"; absent: the tool's name."""
    demanded: bool = True
    """False: the procedure never demands a call of it; skipping one costs nothing but what one does not learn."""
    decides: Name | None = None
    """The parameter whose row this call decides about: the procedure's checks are due before it."""
    intent: Text | None = None
    """How somebody asks for this call, such as "close ticket {ticket_id}"; makes it a part of walks."""


class Case(Part):
    """A kind of subject: what is drawn otherwise, and the rule that is to decide."""

    rule: Name
    """The rule that must decide about such a subject."""
    draw: dict[Dotted, Draw] = {}
    """Values of the subject's row, and of rows it refers to, that are drawn otherwise."""
    traffic: Shares = 1.0
    """How often the scripted agent's desk sees it, in proportion."""


class Call(Part):
    """A call made before the subjects are looked at, such as a search for them."""

    call: ToolName
    """The tool."""
    arguments: Arguments = {}
    """Its arguments; they see the root row."""


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
    knobs: Annotated[dict[Name, Range], Field(max_length=20)] = {}
    """Whole numbers drawn for each task, recorded on it, visible in expressions; they replace the spec's own."""
    opening: Annotated[tuple[Call, ...], Field(max_length=20)] = ()
    """Calls made before the subjects are looked at, such as a search for them."""
    ask: Name
    """The list of phrases that the question is taken from."""
    clarify: Text | None = None
    """What the scripted agent asks the user first, where the question leaves out what the work begins with."""
    each_case: bool = False
    """Make one template of each case, named like it."""
    unseen: bool = False
    """Asked in eval only, neither in train nor in valid: does what was learnt carry over to another kind of task?"""
    traffic: Shares = 1.0
    """How often the scripted agent's desk sees it, in proportion."""


class Asking(Part):
    """Phrases of a question; `{claim.id}` stands for a column of the root or of the first subject."""

    phrases: Annotated[tuple[Text, ...], Field(min_length=1, max_length=500)]
    """Phrases that train uses, and the other splits where nothing is held out."""
    held_out: Annotated[tuple[Text, ...], Field(max_length=500)] = ()
    """Phrases that only valid and eval use."""


class Walks(Part):
    """Tasks made by walking from tool to tool: the asker wants certain calls, in words, and no procedure is due.

    Deeds are tools with an `intent` that change something; tools with an `intent` and one parameter, which names a row,
    lead to rows that their answer names.
    """

    length: tuple[Annotated[int, Field(ge=1, le=10)], Annotated[int, Field(ge=1, le=10)]] = (1, 3)
    """How many deeds, at least and at most."""
    share: Annotated[float, Field(ge=0, le=1)] = 0.2
    """Share of all drawn tasks."""
    draw: dict[Dotted, Draw] = {}
    """How the parameter `tool.parameter` is drawn; needed where it is neither a row, nor an enum, nor a bool."""
    phrases: Annotated[tuple[Text, ...], Field(min_length=1, max_length=100)] = ("Please {deeds}.", "{deeds}.")
    """Questions; `{deeds}` stands for all that is asked."""
    held_out: Annotated[tuple[Text, ...], Field(max_length=100)] = ("Can you {deeds}?",)
    """Phrases that only valid and eval use."""

    @model_validator(mode="after")
    def _ordered(self) -> "Walks":
        if self.length[0] > self.length[1]:
            raise ValueError(f"length: at least {self.length[0]} is more than at most {self.length[1]}")
        return self


class DeclaredUser(Part):
    """Whoever asked, and can be asked back; see `pipeline.environments.users`."""

    script: UserScript
    """What the user wants, knows and says."""
    values: Annotated[dict[str, Expr], Field(max_length=60)] = {}
    """Values of the facts it knows: text, from the first subject."""


class Spec(Part):
    """A whole environment."""

    name: Name
    """What the environment is called: the name of its file, without `.yaml`."""
    about: Text
    """What it is, for people."""
    constants: Annotated[dict[Name, Constant], Field(max_length=200)] = {}
    """Values that every expression sees: text, numbers, lists, and maps of these."""
    knobs: Annotated[dict[Name, Range], Field(max_length=20)] = {}
    """Whole numbers drawn for each task, least and most; templates may set their own."""
    tables: Annotated[dict[Name, Table], Field(min_length=1, max_length=60)]
    """The state."""
    tools: Annotated[dict[ToolName, Tool], Field(min_length=1, max_length=60)]
    """What the agent can do."""
    procedure: Procedure
    """How the work is to be done, in words and as steps."""
    cases: Annotated[dict[Name, Case], Field(min_length=1, max_length=200)]
    """Kinds of subject."""
    templates: Annotated[dict[Name, Template], Field(min_length=1, max_length=200)]
    """Kinds of task."""
    ask: Annotated[dict[Name, Asking], Field(min_length=1, max_length=60)]
    """Lists of phrases, which templates name."""
    user: DeclaredUser | None = None
    """Whom a turn of the agent without a call goes to; absent: it ends the episode."""
    walks: Walks | None = None
    """Tasks without a procedure, made of tools with an `intent`; absent: none."""
    bystanders: Annotated[int, Field(ge=0, le=20)] = 0
    """Further roots of a random template that a task's state holds, which nobody asks about."""
    asides: Annotated[tuple[Text, ...], Field(max_length=200)] = ()
    """Sentences beside the point; see `synthesize.asides`."""
    contradictions: Annotated[tuple[Text, ...], Field(max_length=200)] = ()
    """Claims of the asker that the records do not bear out; the records win. See `synthesize.contradictions`."""
