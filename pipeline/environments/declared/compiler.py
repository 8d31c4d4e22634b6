"""From a validated spec to a compiled one: tables and tools here, procedure and templates in `planning`.

Each fault is raised with the file, line and column of the value that is wrong.
"""

import difflib
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from cel_expr_python import cel

from pipeline.environments.declared.columns import Table
from pipeline.environments.declared.compiled import Arguments, CompiledInsert, CompiledTable, CompiledTool
from pipeline.environments.declared.expressions import (
    TYPES,
    Expression,
    ExpressionFault,
    compile_expression,
    constant_type,
)
from pipeline.environments.declared.reading import Document, Path
from pipeline.environments.declared.scope import layout_of, layout_types
from pipeline.environments.declared.spec import Parameter, Spec, Tool

STRINGS = cel.Type.List(cel.Type.STRING)
Types = dict[str, cel.Type]


class Compiler:
    """Compiles the parts of one spec; keeps what later parts need of earlier ones."""

    def __init__(self, spec: Spec, document: Document) -> None:
        self.spec, self._document = spec, document
        self.constants: dict[str, Any] = {name: plain(value) for name, value in spec.constants.items()}
        self.constant_types: Types = {name: constant_type(value) for name, value in self.constants.items()}
        self.tables = self._tables()
        self.tools = {name: self._tool(name, tool) for name, tool in spec.tools.items()}

    def fail(self, path: Path, message: str) -> NoReturn:
        """Raise the fault of the value at `path`."""
        raise self._document.fault(path, message)

    def expression(self, path: Path, text: str, types: Types, wanted: cel.Type | None = None) -> Expression:
        """Compile one expression with the constants and `types` in scope."""
        try:
            return compile_expression(text, self.constant_types | types, wanted)
        except ExpressionFault as fault:
            self.fail(path, str(fault))

    def known(self, path: Path, name: str, names: Collection[str], what: str) -> str:
        """Return `name` if it is one of `names`, else fail with a suggestion."""
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names) or 'none'}"
            self.fail(path, f"no {what} is called {name!r}; {hint}")
        return name

    def arguments(self, path: Path, tool: str, given: Mapping[str, str], types: Types) -> Arguments:
        """Compile the arguments of a call of `tool`: all its parameters, each of the right type."""
        self.known((*path, "call"), tool, self.spec.tools, "tool")
        parameters = self.spec.tools[tool].parameters
        for name in given:
            self.known((*path, "arguments", name), name, parameters, f"parameter of {tool}")
        missing = sorted(parameters.keys() - given.keys())
        if missing:
            self.fail((*path, "arguments"), f"{tool} also needs {', '.join(missing)}")
        return {
            name: self.expression((*path, "arguments", name), text, types, parameter_type(parameters[name]))
            for name, text in given.items()
        }

    def row_types(self, table: str) -> Types:
        """Types of all that a row of `table` can see."""
        return layout_types(self.tables[table].layout, self.tables)

    def _tables(self) -> dict[str, CompiledTable]:
        specs = self.spec.tables
        for name, table in specs.items():
            self._check_references(name, table)
        rows = [table.row for table in specs.values()]
        for name, table in specs.items():
            if rows.count(table.row) > 1:
                self.fail(("tables", name, "row"), f"two tables call their row {table.row!r}")
        self.tables = {name: CompiledTable(table, layout_of({table.row: name}, specs)) for name, table in specs.items()}
        for name in specs:
            self._compute(name)
        return self.tables

    def _check_references(self, name: str, table: Table) -> None:
        for column_name, column in table.columns.items():
            for kind, target in (("ref", column.ref), ("rows", column.rows)):
                if target is not None:
                    path = ("tables", name, "columns", column_name, kind, "table")
                    self.known(path, target.table, self.spec.tables, "table")

    def _compute(self, name: str) -> None:
        table = self.tables[name]
        for computed, text in table.spec.computed.items():
            path = ("tables", name, "computed", computed)
            table.computed[computed] = self.expression(path, text, self.row_types(name))

    def _tool(self, name: str, tool: Tool) -> CompiledTool:
        path: Path = ("tools", name)
        keys = {
            parameter: parameter.removesuffix("_id")
            for parameter, its in tool.parameters.items()
            if its.key is not None
        }
        bound = {alias: self._key_table(path, parameter, tool) for parameter, alias in keys.items()}
        layout = layout_of(bound, self.spec.tables)
        types = layout_types(layout, self.tables)
        types |= {parameter: parameter_type(its) for parameter, its in tool.parameters.items()}
        if tool.decides is not None:
            self.known((*path, "decides"), tool.decides, keys, "parameter that names a row")
        return CompiledTool(
            name, tool, layout, keys,
            tuple(
                (self.expression((*path, "requires", number, "that"), each.that, types, cel.Type.BOOL),
                 self.expression((*path, "requires", number, "otherwise"), each.otherwise, types, cel.Type.STRING))
                for number, each in enumerate(tool.requires)
            ),
            self._changes(path, tool, bound, types),
            self._insert(path, tool, types),
            self.expression((*path, "returns"), tool.returns, types, cel.Type.STRING),
        )  # fmt: skip

    def _key_table(self, path: Path, parameter: str, tool: Tool) -> str:
        table = tool.parameters[parameter].key
        assert table is not None
        return self.known((*path, "parameters", parameter, "key"), table, self.spec.tables, "table")

    def _changes(
        self, path: Path, tool: Tool, bound: Mapping[str, str], types: Types
    ) -> tuple[tuple[str, str, Expression], ...]:
        out = []
        for dotted, text in tool.change.items():
            here = (*path, "change", dotted)
            alias, _, column = dotted.partition(".")
            self.known(here, alias, layout_of(bound, self.spec.tables), "row in scope")
            table = layout_of(bound, self.spec.tables)[alias].table
            columns = self.spec.tables[table].columns
            self.known(here, column, columns, f"column of {table}")
            out.append((alias, column, self.expression(here, text, types, TYPES[columns[column].type])))
        return tuple(out)

    def _insert(self, path: Path, tool: Tool, types: Types) -> CompiledInsert | None:
        if tool.insert is None:
            return None
        here: Path = (*path, "insert")
        table = self.known((*here, "table"), tool.insert.table, self.spec.tables, "table")
        columns = self.spec.tables[table].columns
        for name in tool.insert.row:
            self.known((*here, "row", name), name, columns, f"column of {table}")
        absent = sorted(
            name for name, column in columns.items() if name not in tool.insert.row and column.start is None
        )
        if absent:
            self.fail((*here, "row"), f"these columns have no start value, so say theirs: {', '.join(absent)}")
        row = {
            name: self.expression((*here, "row", name), text, types, TYPES[columns[name].type])
            for name, text in tool.insert.row.items()
        }
        return CompiledInsert(table, self.expression((*here, "id"), tool.insert.id, types, cel.Type.STRING), row)


def parameter_type(parameter: Parameter) -> cel.Type:
    """Type of a parameter's value in expressions."""
    return TYPES["string" if parameter.key else parameter.type]


def plain(value: Any) -> Any:
    """Tuples as lists, as JSON and the expression language have them."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple | list) else value
