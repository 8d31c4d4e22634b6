"""The part of a spec that describes state: tables, columns, and how their first values are drawn."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pipeline.environments.declared.names import Name

MAX_ROWS = 200
"""Rows that one `rows` column may create."""

Text = Annotated[str, Field(min_length=1, max_length=2000)]
Expr = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra={"format": "cel"})]
"""An expression in CEL, the Common Expression Language (https://cel.dev)."""
Bound = int | Expr
Scalar = bool | int | float | str


class Part(BaseModel):
    """A frozen group of values; an unknown key is an error. What stands below a field describes it in the schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Draw(Part):
    """How a value is drawn: exactly one of `one_of`, `some_of`, `shuffle`, `between` and `value`.

    Expressions see the constants, the knobs and every other drawn column of the same record by its dotted name; columns
    are drawn in an order that their expressions allow.
    """

    one_of: tuple[Scalar, ...] | Expr | None = None
    """One element of a list, each equally likely."""
    some_of: tuple[Scalar, ...] | Expr | None = None
    """Several elements of a list, in any order; `count` says how many."""
    shuffle: Expr | None = None
    """All elements of a list, in any order."""
    between: tuple[Bound, Bound] | None = None
    """A whole number between two bounds, both included."""
    value: Expr | None = None
    """What an expression says."""
    count: tuple[Bound, Bound] = (1, 1)
    """For `some_of`: how many, at least and at most."""
    without: Expr | None = None
    """For `one_of` and `some_of`: a list of elements that are never taken."""
    plus: Expr | None = None
    """For `some_of`: a list of elements that are always there besides."""

    @model_validator(mode="after")
    def _one_way(self) -> "Draw":
        ways = [
            name for name in ("one_of", "some_of", "shuffle", "between", "value") if getattr(self, name) is not None
        ]
        if len(ways) != 1:
            raise ValueError(f"say one of one_of, some_of, shuffle, between, value; found {', '.join(ways) or 'none'}")
        return self


class Ref(Part):
    """A column that holds the id of a row of another table, created along with its own row."""

    table: Name


class Rows(Part):
    """A column that holds the ids of several rows of another table, created along with its own row."""

    table: Name
    count: tuple[Bound, Bound] = (1, 1)


class Column(Part):
    """One typed column. Without `draw`, `ref` and `rows` it starts at `start`."""

    type: Literal["int", "float", "string", "bool", "list<string>", "list<int>", "ref", "refs"]
    draw: Draw | None = None
    start: Scalar | tuple[Scalar, ...] | None = None
    ref: Ref | None = None
    rows: Rows | None = None

    @model_validator(mode="after")
    def _source(self) -> "Column":
        wanted = {"ref": "ref", "refs": "rows"}.get(self.type)
        given = [name for name in ("draw", "start", "ref", "rows") if getattr(self, name) is not None]
        allowed = [wanted] if wanted else ["draw", "start"]
        if len(given) != 1 or given[0] not in allowed:
            raise ValueError(f"a column of type {self.type} needs {' or '.join(allowed)}; found {given or 'neither'}")
        return self


class Table(Part):
    """Rows of one kind. Ids are `PREFIX-` and four digits, or as many as `digits` says."""

    row: Name
    """What one row is called in expressions: `claim.amount` is column `amount` of the row `claim`."""
    prefix: Annotated[str, Field(pattern=r"^[A-Z]{1,6}$")]
    digits: Annotated[int, Field(ge=3, le=9)] = 4
    columns: Annotated[dict[Name, Column], Field(max_length=60)] = {}
    let: Annotated[dict[Name, Draw], Field(max_length=60)] = {}
    """Values drawn to make the columns from; they are no part of the state."""
    computed: Annotated[dict[Name, Expr], Field(max_length=60)] = {}
    """Named expressions over a row and what it refers to, evaluated when needed: `claim.payable`."""

    @model_validator(mode="after")
    def _distinct(self) -> "Table":
        names = [*self.columns, *self.let, *self.computed]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"named twice among columns, let and computed: {', '.join(twice)}")
        return self
