"""What must hold among the names and tables of a spec before an expression is looked at.

A `ref` and each id of a `rows` column is a row made along with the row that holds it. So tables that lead to each other
in a circle would make rows without end, and two references that a row could reach by one name could not be told apart.
"""

from collections.abc import Callable, Collection, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import NoReturn

from pipeline.environments.declared.columns import MAX_STATE
from pipeline.environments.declared.reading import Path
from pipeline.environments.declared.spec import Spec, Tool

Fail = Callable[[Path, str], NoReturn]
Known = Callable[[Path, str, Collection[str], str], str]


def check_structure(spec: Spec, fail: Fail, known: Known) -> tuple[str, ...]:
    """Check names, references and parameters; returns the tables, each after those that it leads to."""
    _check_names(spec, fail)
    for path, target in _targets(spec):
        known(path, target, spec.tables, "table")
    order = _order(spec, fail)
    for name in spec.tables:
        _check_reach(spec, name, fail)
    _check_rows(spec, order, fail)
    for name, tool in spec.tools.items():
        _check_parameters(spec, name, tool, fail)
    return order


def _targets(spec: Spec) -> Iterator[tuple[Path, str]]:
    for table, its in spec.tables.items():
        for name, column in its.columns.items():
            for kind, target in (("ref", column.ref), ("rows", column.rows)):
                if target is not None:
                    yield ("tables", table, "columns", name, kind, "table"), target.table


def _check_names(spec: Spec, fail: Fail) -> None:
    knobs = {*spec.knobs, *(knob for template in spec.templates.values() for knob in template.knobs)}
    for knob in sorted(knobs & spec.constants.keys()):
        fail(("constants", knob), "is the name of a knob, too; call one of them otherwise")
    rows: dict[str, str] = {}
    prefixes: dict[str, str] = {}
    for name, table in spec.tables.items():
        if table.row in rows:
            fail(("tables", name, "row"), f"tables {rows[table.row]} and {name} both call their row {table.row!r}")
        if table.prefix in prefixes:
            fail(("tables", name, "prefix"), f"tables {prefixes[table.prefix]} and {name} share {table.prefix!r}, so "
                 "that their ids could be mistaken for each other")  # fmt: skip
        rows[table.row], prefixes[table.prefix] = name, name
        references = [column for column, its in table.columns.items() if its.ref is not None]
        for alias in (table.row, *references):
            if alias in spec.constants or alias in knobs:
                fail(("tables", name), f"{alias!r} is a row here, and a constant or knob, too; call one otherwise")


def _order(spec: Spec, fail: Fail) -> tuple[str, ...]:
    graph: dict[str, list[str]] = {name: [] for name in spec.tables}
    for path, target in _targets(spec):
        graph[str(path[1])].append(target)
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        path = next(path for path, target in _targets(spec) if path[1] == circle[0] and target == circle[1])
        fail(path, f"rows that are made along with each other without end: {' makes '.join(circle)}")


def _check_reach(spec: Spec, table: str, fail: Fail) -> None:
    """Every row made along with a row of `table` must have a name of its own."""
    seen = {spec.tables[table].row}
    queue = [table]
    while queue:
        here = queue.pop(0)
        for name, column in spec.tables[here].columns.items():
            if column.ref is None:
                continue
            if name in seen:
                fail(("tables", here, "columns", name), f"two rows made along with one of {table} are called {name!r}; "
                     "call this column otherwise")  # fmt: skip
            seen.add(name)
            queue.append(column.ref.table)


def _check_rows(spec: Spec, order: tuple[str, ...], fail: Fail) -> None:
    """A row must not make too many others, as far as counts are numbers; the rest is seen when a state is drawn."""
    made: dict[str, int] = {}
    for name in order:
        made[name] = 1
        for column, its in spec.tables[name].columns.items():
            if its.ref is not None:
                made[name] += made[its.ref.table]
            if its.rows is not None:
                high = its.rows.count[1]
                made[name] += (high if isinstance(high, int) else 1) * made[its.rows.table]
            if made[name] > MAX_STATE:
                fail(("tables", name, "columns", column), f"makes up to {made[name]} rows with all that these make; a "
                     f"state holds at most {MAX_STATE}")  # fmt: skip


def _check_parameters(spec: Spec, name: str, tool: Tool, fail: Fail) -> None:
    rows: dict[str, str] = {}
    for parameter, its in tool.parameters.items():
        path: Path = ("tools", name, "parameters", parameter)
        if parameter in spec.constants:
            fail(path, f"{parameter!r} is a constant, too; call one of them otherwise")
        if its.key is None:
            continue
        alias = parameter.removesuffix("_id")
        if alias in rows:
            fail(path, f"parameters {rows[alias]} and {parameter} both name the row {alias!r}; call one otherwise")
        if alias in spec.constants:
            fail(path, f"the row {alias!r} has the name of a constant; call one of them otherwise")
        rows[alias] = parameter
