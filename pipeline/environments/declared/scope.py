"""Which rows an expression can see, and their values.

A layout says it at load time: row names (aliases), each bound directly or reached through a `ref` column of another. A
scope is the same at run time: it looks values up in the tables only when an expression asks for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cel_expr_python import cel

from pipeline.environments.declared.columns import Table
from pipeline.environments.declared.expressions import TYPES, Expression, ExpressionFault
from pipeline.records import JsonObject

if TYPE_CHECKING:
    from pipeline.environments.declared.compiled import CompiledTable

Tables = dict[str, dict[str, JsonObject]]
"""The state: table name to id to row."""


def copy_tables(tables: Tables) -> Tables:
    """A state that shares nothing with `tables`; rows hold plain values and lists of these."""
    return {
        name: {
            key: {column: list(value) if isinstance(value, list) else value for column, value in row.items()}
            for key, row in rows.items()
        }
        for name, rows in tables.items()
    }


@dataclass(frozen=True, slots=True)
class Alias:
    """One visible row: its table, and how it is reached; `parent` None means bound directly."""

    table: str
    parent: str | None = None
    column: str = ""


Layout = dict[str, Alias]


def layout_of(bound: Mapping[str, str], tables: Mapping[str, Table]) -> Layout:
    """Aliases of rows bound by name (`bound`: alias to table) and of all that they refer to.

    A reference is called like its column. A name that two references would share belongs to neither.
    """
    layout: Layout = {alias: Alias(table) for alias, table in bound.items()}
    twice: set[str] = set()
    queue = list(layout)
    while queue:
        alias = queue.pop(0)
        for name, column in tables[layout[alias].table].columns.items():
            if column.ref is None or _loops(layout, alias, column.ref.table):
                continue
            if name in layout:
                twice |= set() if layout[name].parent is None else {name}
                continue
            layout[name] = Alias(column.ref.table, alias, name)
            queue.append(name)
    return {name: alias for name, alias in layout.items() if not _through(layout, name, twice)}


def _loops(layout: Layout, alias: str, table: str) -> bool:
    here: str | None = alias
    while here is not None:
        if layout[here].table == table:
            return True
        here = layout[here].parent
    return False


def _through(layout: Layout, name: str, twice: set[str]) -> bool:
    here: str | None = name
    while here is not None:
        if here in twice:
            return True
        here = layout[here].parent
    return False


def layout_types(layout: Layout, tables: "Mapping[str, CompiledTable]", computed: bool = True) -> dict[str, cel.Type]:
    """Types of every dotted name of a layout: columns, ids and, where rows are complete, computed values."""
    types: dict[str, cel.Type] = {}
    for alias, target in layout.items():
        table = tables[target.table]
        types[f"{alias}.id"] = cel.Type.STRING
        types |= {f"{alias}.{name}": TYPES[column.type] for name, column in table.spec.columns.items()}
        if computed:
            types |= {f"{alias}.{name}": expression.type for name, expression in table.computed.items()}
    return types


class Scope:
    """Values of names at run time: plain ones first, then columns of the rows bound to aliases."""

    __slots__ = ("_compiled", "_layout", "_rows", "_tables", "values")

    def __init__(
        self,
        compiled: "Mapping[str, CompiledTable]",
        layout: Layout,
        tables: Tables,
        values: Mapping[str, Any],
        rows: dict[str, str],
    ) -> None:
        self._compiled, self._layout, self._tables, self._rows = compiled, layout, tables, rows
        self.values = values

    def __call__(self, name: str) -> Any:
        """Value of a plain or dotted name. Raises ExpressionFault for a row that does not exist."""
        if name in self.values:
            return self.values[name]
        alias, _, column = name.partition(".")
        key = self.key(alias)
        if column == "id":
            return key
        table = self._layout[alias].table
        row = self._row(table, key)
        return row[column] if column in row else self._computed(table, key, column)

    def key(self, alias: str) -> str:
        """Id of the row that an alias stands for. Raises ExpressionFault when one on the way does not exist."""
        if alias in self._rows:
            return self._rows[alias]
        target = self._layout[alias]
        assert target.parent is not None
        return str(self._row(self._layout[target.parent].table, self.key(target.parent))[target.column])

    def table(self, alias: str) -> str:
        """Table of the row that an alias stands for."""
        return self._layout[alias].table

    def _row(self, table: str, key: str) -> JsonObject:
        row = self._tables[table].get(key)
        if row is None:
            raise ExpressionFault(f"{table} has no row {key!r}")
        return row

    def _computed(self, table: str, key: str, name: str) -> Any:
        compiled = self._compiled[table]
        inner = Scope(self._compiled, compiled.layout, self._tables, self.values, {compiled.spec.row: key})
        expression: Expression = compiled.computed[name]
        return expression(inner)
