"""A spec made ready to run: every expression compiled, every reference checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.environments.declared.columns import Draw, Table
from pipeline.environments.declared.expressions import Expression
from pipeline.environments.declared.scope import Layout, Scope, Tables
from pipeline.environments.declared.spec import Spec, Tool, Walks

Arguments = dict[str, Expression]


@dataclass(frozen=True, slots=True)
class CompiledTable:
    """A table with its computed values and what a row of it can see."""

    spec: Table
    layout: Layout
    computed: dict[str, Expression] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompiledInsert:
    """A row to add: table, id, and the columns that do not start at their default."""

    table: str
    id: Expression
    row: dict[str, Expression]


@dataclass(frozen=True, slots=True)
class CompiledTool:
    """A tool; `keys` maps each parameter that names a row to the row's alias."""

    name: str
    spec: Tool
    layout: Layout
    keys: dict[str, str]
    requires: tuple[tuple[Expression, Expression], ...]
    changes: tuple[tuple[str, str, Expression], ...]
    insert: CompiledInsert | None
    returns: Expression


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """When it holds, this call decides."""

    name: str
    when: Expression
    call: str
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """A demanded call and the rules looked at after it."""

    call: str
    arguments: Arguments
    each: Expression | None
    when: Expression | None
    rules: tuple[CompiledRule, ...]


@dataclass(frozen=True, slots=True)
class CompiledHabit:
    """A way to go wrong: see `spec.Habit`."""

    skip: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    sees: dict[str, Expression] = field(default_factory=dict)
    arguments: dict[str, Arguments] = field(default_factory=dict)
    again: str | None = None


@dataclass(frozen=True, slots=True)
class CompiledDraw:
    """How one value is drawn; bounds and lists are constants or expressions."""

    spec: Draw
    source: Expression | tuple[Any, ...] | None
    bounds: tuple[Expression | int, Expression | int]
    without: Expression | None
    plus: Expression | None

    @property
    def names(self) -> frozenset[str]:
        """Names that must have values before this one is drawn."""
        parts = (self.source, *self.bounds, self.without, self.plus)
        return frozenset(name for part in parts if isinstance(part, Expression) for name in part.names)


Draws = dict[str, CompiledDraw]
"""Dotted names (`claim.amount`, also of `let` values) to how they are drawn."""


@dataclass(frozen=True, slots=True)
class CompiledTemplate:
    """A template: `cases` are the names that a subject is drawn from, `phrases` and `held_out` the questions.

    `draw` maps the root table of a bundle to what is drawn otherwise in it.
    """

    name: str
    root: str
    subjects: Expression
    cases: tuple[str, ...]
    draw: dict[str, Draws]
    knobs: dict[str, tuple[Expression | int, Expression | int]]
    opening: tuple[tuple[str, Arguments], ...]
    phrases: tuple[str, ...]
    held_out: tuple[str, ...]
    traffic: float
    clarify: str | None
    unseen: bool


@dataclass(frozen=True, slots=True)
class CompiledWalks:
    """What walks are made of: tools that do something, tools that lead to rows, and how arguments are drawn."""

    spec: Walks
    deeds: tuple[str, ...]
    leads: tuple[str, ...]
    draws: dict[str, Draws]
    """Deed to parameter to how it is drawn; neither rows, nor enums, nor bools."""


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A whole environment, ready to run; two are equal when they are the same object."""

    spec: Spec
    constants: dict[str, Any]
    tables: dict[str, CompiledTable]
    tools: dict[str, CompiledTool]
    subject: str
    """Table whose rows get decided."""
    steps: tuple[CompiledStep, ...]
    habits: dict[str, CompiledHabit]
    bundles: dict[str, Draws]
    """Table of a row that is created by itself, to all that is drawn with it."""
    counts: dict[tuple[str, str], tuple[Expression | int, Expression | int]]
    """Table and `rows` column to how many rows it creates, at least and at most."""
    cases: dict[str, tuple[str, Draws]]
    """Case name to the rule that is to decide, and what is drawn otherwise."""
    templates: dict[str, CompiledTemplate]
    user: dict[str, Expression]
    """Facts that the user knows, by name; they see the first subject."""
    walks: CompiledWalks | None

    def scope(self, tables: Tables, layout: Layout, rows: dict[str, str], values: Mapping[str, Any]) -> Scope:
        """A scope over `tables` with the constants and `values`."""
        return Scope(self.tables, layout, tables, {**self.constants, **values}, rows)

    def subject_scope(self, tables: Tables, key: str) -> Scope:
        """The scope in which the procedure looks at one subject."""
        table = self.tables[self.subject]
        return Scope(self.tables, table.layout, tables, self.constants, {table.spec.row: key})
