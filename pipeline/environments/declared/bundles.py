"""What is drawn, compiled: bundles of rows that are created together, and how each of their values comes about."""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from cel_expr_python import cel

from pipeline.environments.declared.columns import Bound, Draw
from pipeline.environments.declared.compiled import CompiledDraw, Draws
from pipeline.environments.declared.compiler import STRINGS, Compiler, Types, plain
from pipeline.environments.declared.expressions import LIST, TYPES, Expression, constant_type
from pipeline.environments.declared.reading import Path
from pipeline.environments.declared.scope import layout_types

Bounds = tuple[Expression | int, Expression | int]

_CHILD = {"index": cel.Type.INT, "count": cel.Type.INT, "siblings": STRINGS}
"""What a row created through a `rows` column knows of its place among its siblings; a root is the first of one."""


class Bundles:
    """Compiles the draws of a spec. A bundle is a row that is created by itself, with the rows that it refers to."""

    def __init__(self, compiler: Compiler) -> None:
        self._c, self._spec = compiler, compiler.spec
        templates = self._spec.templates.values()
        self.knobs: Types = dict.fromkeys(
            [*self._spec.knobs, *(name for template in templates for name in template.knobs)], cel.Type.INT
        )
        self.roots = self._roots()
        self._types: dict[str, Types] = {}

    def _roots(self) -> list[str]:
        """Tables whose rows are created by themselves: roots of templates, and what `rows` columns create."""
        found = []
        for name, template in self._spec.templates.items():
            found.append(self._c.known(("templates", name, "root"), template.root, self._spec.tables, "table"))
        queue = list(dict.fromkeys(found))
        for table in queue:
            for alias in self._c.tables[table].layout.values():
                columns = self._spec.tables[alias.table].columns.values()
                queue += [its.rows.table for its in columns if its.rows and its.rows.table not in queue]
        return queue

    def counts(self) -> dict[tuple[str, str], Bounds]:
        """How many rows each `rows` column creates: expressions over knobs and constants."""
        out = {}
        for table, spec in self._spec.tables.items():
            for name, column in spec.columns.items():
                if column.rows is not None:
                    path: Path = ("tables", table, "columns", name, "rows", "count")
                    low, high = column.rows.count
                    out[table, name] = (
                        self.bound((*path, 0), low, self.knobs), self.bound((*path, 1), high, self.knobs),
                    )  # fmt: skip
        return out

    def types(self, table: str) -> Types:
        """Types of all that is in scope where a value of the bundle of `table` is drawn."""
        if table not in self._types:
            self._types[table] = self._find_types(table)
        return self._types[table]

    def _find_types(self, table: str) -> Types:
        layout = self._c.tables[table].layout
        types = self._creator_types(table) | layout_types(layout, self._c.tables, computed=False) | self.knobs | _CHILD
        for alias, target in layout.items():
            for name, draw in self._spec.tables[target.table].let.items():
                path: Path = ("tables", target.table, "let", name)
                types[f"{alias}.{name}"] = self._drawn_type(self.draw(path, draw, types, None))
        return types

    def bundle(self, table: str) -> Draws:
        """How everything in the bundle of `table` is drawn."""
        types = self.types(table)
        out: Draws = {}
        for alias, target in self._c.tables[table].layout.items():
            spec = self._spec.tables[target.table]
            for name, draw in spec.let.items():
                out[f"{alias}.{name}"] = self.draw(("tables", target.table, "let", name), draw, types, None)
            for name, column in spec.columns.items():
                if column.draw is not None:
                    path: Path = ("tables", target.table, "columns", name, "draw")
                    out[f"{alias}.{name}"] = self.draw(path, column.draw, types, TYPES[column.type])
        return out

    def overrides(self, path: Path, draws: Mapping[str, Draw], table: str) -> Draws:
        """What a case or template draws otherwise in the bundle of `table`."""
        types, known = self.types(table), self.drawn(table)
        for dotted in draws:
            self._c.known((*path, dotted), dotted, known, "value that can be drawn otherwise")
        return {
            dotted: self.draw((*path, dotted), draw, types, types[dotted]) for dotted, draw in draws.items()
        }  # fmt: skip

    def drawn(self, table: str) -> list[str]:
        """What a case or template may draw otherwise: columns and `let` values, but no ids."""
        names = []
        for alias, target in self._c.tables[table].layout.items():
            its = self._spec.tables[target.table]
            columns = [name for name, column in its.columns.items() if column.ref is None and column.rows is None]
            names += [f"{alias}.{name}" for name in (*columns, *its.let)]
        return names

    def bound(self, path: Path, bound: Bound, types: Types) -> Expression | int:
        """A bound of a range: a number, or an expression with `types` in scope."""
        return bound if isinstance(bound, int) else self._c.expression(path, bound, types, cel.Type.INT)

    def _creator_types(self, table: str) -> Types:
        """What a row sees of the one that creates it, if only rows of one table do."""
        creators = [
            name
            for name in self._spec.tables
            for alias in self._c.tables[name].layout.values()
            for column in self._spec.tables[alias.table].columns.values()
            if column.rows is not None and column.rows.table == table and name in self.roots
        ]
        if len(set(creators)) != 1 or creators[0] == table:
            return {}
        return layout_types(self._c.tables[creators[0]].layout, self._c.tables, computed=False)

    def draw(self, path: Path, draw: Draw, types: Types, wanted: cel.Type | None) -> CompiledDraw:
        """How one value is drawn, with `types` in scope; `wanted` None takes any type."""
        source: Expression | tuple[object, ...] | None = None
        for name in ("one_of", "some_of", "shuffle", "value"):
            said = getattr(draw, name)
            if isinstance(said, str):
                source = self._c.expression((*path, name), said, types, _source_type(name, wanted))
            elif said is not None:
                source = tuple(plain(said))
        bounds = draw.between or draw.count
        place = "between" if draw.between else "count"
        made = CompiledDraw(
            draw, source,
            (self.bound((*path, place, 0), bounds[0], types), self.bound((*path, place, 1), bounds[1], types)),
            None if draw.without is None else self._c.expression((*path, "without"), draw.without, types, LIST),
            None if draw.plus is None else self._c.expression((*path, "plus"), draw.plus, types, wanted or LIST),
        )  # fmt: skip
        found = self._drawn_type(made)
        mixed = isinstance(source, tuple) and "DYN" in found.name()
        if mixed and wanted is not None and wanted != cel.Type.DYN:
            self._c.fail(path, f"draws values of different types, but {wanted.name().lower()} is needed here")
        if wanted is not None and cel.Type.DYN not in (found, wanted) and not wanted.is_assignable_from(found):
            self._c.fail(path, f"draws {found.name().lower()}, but {wanted.name().lower()} is needed here")
        return made

    def _drawn_type(self, draw: CompiledDraw) -> cel.Type:
        if draw.spec.between is not None:
            return cel.Type.INT
        if isinstance(draw.source, Expression):
            return cel.Type.DYN if draw.spec.one_of is not None else draw.source.type
        if isinstance(draw.source, tuple):
            literal = constant_type(list(draw.source))
            kinds = {constant_type(value).name() for value in draw.source}
            one = constant_type(draw.source[0]) if len(kinds) == 1 else cel.Type.DYN
            return literal if draw.spec.some_of is not None else one
        return cel.Type.DYN


def _source_type(way: str, wanted: cel.Type | None) -> cel.Type | None:
    """Type of the expression that a value of type `wanted` is drawn from."""
    if way == "one_of":
        return LIST if wanted is None else cel.Type.List(wanted)
    return wanted if way == "value" else (wanted or LIST)


def drawing_order(draws: Draws) -> tuple[str, ...]:
    """Names in an order in which each value has what it needs. Raises CycleError, its second argument the circle."""
    graph = {name: sorted(draw.names & draws.keys()) for name, draw in draws.items()}
    return tuple(TopologicalSorter(graph).static_order())


def circle_of(error: CycleError) -> str:
    """A circle of names in words."""
    return " needs ".join(reversed(error.args[1]))
