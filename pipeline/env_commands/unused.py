"""What a spec says and nothing ever uses: most often a slip of its author."""

import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pipeline.environments.declared.compiled import Compiled, CompiledTool
from pipeline.environments.declared.expressions import Expression
from pipeline.environments.declared.scope import Layout

Column = tuple[str, str]
"""Table and column."""


@dataclass(slots=True)
class Used:
    """What the drawn tasks made use of."""

    rules: set[str] = field(default_factory=set)
    cases: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)


def unused(compiled: Compiled, used: Used) -> dict[str, list[str]]:
    """Rules that never decide, cases never drawn, tools never called, columns no tool and no rule reads or writes."""
    rules = [rule.name for step in compiled.steps for rule in step.rules]
    spec = compiled.spec
    read = columns_used(compiled)
    columns = [
        (name, column) for name, table in spec.tables.items() for column in (*table.columns, *table.computed)
    ]  # fmt: skip
    return {
        "rules": [name for name in rules if name not in used.rules],
        "cases": [name for name in spec.cases if name not in used.cases],
        "tools": [name for name in spec.tools if name not in used.tools],
        "columns": [f"{table}.{column}" for table, column in columns if (table, column) not in read],
        "phrases": [name for name in spec.ask if name not in {each.ask for each in spec.templates.values()}],
    }


def columns_used(compiled: Compiled) -> set[Column]:
    """Columns and computed values that tools, rules or questions read or write, directly or by way of others."""
    found = {column for layout, names in _readers(compiled) for name in names for column in _resolve(layout, name)}
    for tool in compiled.tools.values():
        found |= _written(tool)
    queue = list(found)
    for table, name in queue:
        expression = compiled.tables[table].computed.get(name)
        for used in expression.names if expression is not None else ():
            new = [column for column in _resolve(compiled.tables[table].layout, used) if column not in found]
            found.update(new)
            queue += new
    return found


def _readers(compiled: Compiled) -> Iterator[tuple[Layout, Iterable[str]]]:
    for tool in compiled.tools.values():
        yield tool.layout, _names([
            *(part for pair in tool.requires for part in pair), *(new for _, _, new in tool.changes), tool.returns,
            *((tool.insert.id, *tool.insert.row.values()) if tool.insert is not None else ()),
        ])  # fmt: skip
    subject = compiled.tables[compiled.subject].layout
    for step in compiled.steps:
        parts = [*step.arguments.values(), *(each for each in (step.each, step.when) if each is not None)]
        yield subject, _names([*parts, *(e for rule in step.rules for e in (rule.when, *rule.arguments.values()))])
    yield subject, _names(compiled.user.values())
    for template in compiled.templates.values():
        root = compiled.tables[template.root].layout
        yield root, _names([template.subjects, *(e for _, given in template.opening for e in given.values())])
        texts = (*template.phrases, *template.held_out, *compiled.spec.asides, *compiled.spec.contradictions)
        named = {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}
        yield root | subject, named


def _names(expressions: Iterable[Expression]) -> list[str]:
    return [name for expression in expressions for name in expression.names]


def _resolve(layout: Layout, name: str) -> Iterator[Column]:
    """The column that a dotted name reads, and the references that lead to its row."""
    alias, _, column = name.partition(".")
    if not column or alias not in layout:
        return
    yield layout[alias].table, column
    here = layout[alias]
    while here.parent is not None:
        yield layout[here.parent].table, here.column
        here = layout[here.parent]


def _written(tool: CompiledTool) -> set[Column]:
    found = {(tool.layout[alias].table, column) for alias, column, _ in tool.changes}
    return found | ({(tool.insert.table, column) for column in tool.insert.row} if tool.insert is not None else set())
