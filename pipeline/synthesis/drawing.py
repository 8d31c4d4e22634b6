"""Initial states: a root row and all that it creates, drawn as the spec says.

A bundle is a row with the rows that it refers to; they are drawn together, each value after those that its expressions
need. `rows` columns then create further bundles. Every draw comes from the task's own generator.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pipeline.environments.declared.bundles import drawing_order
from pipeline.environments.declared.columns import MAX_ROWS, MAX_STATE
from pipeline.environments.declared.compiled import Compiled, CompiledDraw, CompiledTemplate, Draws
from pipeline.environments.declared.expressions import Expression, ExpressionFault, Lookup
from pipeline.environments.declared.scope import Layout, Tables
from pipeline.errors import SpecError
from pipeline.records import Split
from pipeline.synthesis.identity import draw_id

Place = Mapping[str, Any]
"""`index`, `count` and `siblings` of a row among those created with it."""
_ROOT: Place = {"index": 0, "count": 1, "siblings": []}


@dataclass(slots=True)
class Drawing:
    """One task's state as it grows; `cases` says what each subject was drawn as."""

    compiled: Compiled
    template: CompiledTemplate
    split: Split
    rng: random.Random
    tables: Tables = field(default_factory=dict)
    knobs: dict[str, int] = field(default_factory=dict)
    cases: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tables = {name: {} for name in self.compiled.tables}
        for name, (low, high) in self.template.knobs.items():
            self.knobs[name] = self._between(name, low, high, self._constant)

    def root(self) -> str:
        """Create a root with all that belongs to it; returns its id. Raises SpecError."""
        key = self._key(self.template.root)
        self._bundle(self.template.root, key, _ROOT, self._constant)
        return key

    def _bundle(self, table: str, key: str, place: Place, outer: Lookup) -> None:
        """Draw a row and all that it refers to; `outer` looks up what the row that creates it sees."""
        layout = self.compiled.tables[table].layout
        keys = self._rows(layout, table, key)
        draws, order = self._plan(table, key)
        values: dict[str, Any] = {}
        lookup = self._lookup(layout, keys, values, place, outer)
        for name in order:
            values[name] = self.draw(name, draws[name], lookup)
            alias, _, column = name.partition(".")
            row = self.tables[layout[alias].table][keys[alias]]
            if column in row:
                row[column] = values[name]
        for alias, target in layout.items():
            self._children(target.table, keys[alias], lookup)

    def _rows(self, layout: Layout, table: str, key: str) -> dict[str, str]:
        """Empty rows of a bundle, with their start values and references to each other."""
        keys: dict[str, str] = {}
        for alias, target in layout.items():
            keys[alias] = key if target.parent is None else self._key(target.table)
            columns = self.compiled.tables[target.table].spec.columns
            self.tables[target.table][keys[alias]] = {name: _start(its.start) for name, its in columns.items()}
            if target.parent is not None:
                self.tables[layout[target.parent].table][keys[target.parent]][target.column] = keys[alias]
        return keys

    def _plan(self, table: str, key: str) -> tuple[Draws, tuple[str, ...]]:
        if table != self.compiled.subject:
            return _plan(self.compiled, self.template.name, table, None)
        self.cases[key] = self.rng.choice(self.template.cases)
        return _plan(self.compiled, self.template.name, table, self.cases[key])

    def _children(self, table: str, key: str, lookup: Lookup) -> None:
        for name, column in self.compiled.tables[table].spec.columns.items():
            if column.rows is None:
                continue
            low, high = self.compiled.counts[table, name]
            count = self._between(f"{table}.{name}", low, high, lookup)
            if not 0 <= count <= MAX_ROWS:
                raise SpecError(f"{self.compiled.spec.name}: {table}.{name}: {count} rows; at most {MAX_ROWS} are made")
            if count + sum(map(len, self.tables.values())) > MAX_STATE:
                raise SpecError(f"{self.compiled.spec.name}: {table}.{name}: a state holds at most {MAX_STATE} rows")
            keys: list[str] = []
            for _ in range(count):
                keys.append(self._key(column.rows.table))
                self.tables[column.rows.table][keys[-1]] = {}
            self.tables[table][key][name] = keys
            for index, child in enumerate(keys):
                self._bundle(column.rows.table, child, {"index": index, "count": count, "siblings": keys}, lookup)

    def _key(self, table: str) -> str:
        spec = self.compiled.tables[table].spec
        return draw_id(self.rng, spec.prefix, spec.digits, self.split, self.tables[table])

    def _lookup(
        self, layout: Layout, keys: dict[str, str], values: dict[str, Any], place: Place, outer: Lookup
    ) -> Lookup:
        def lookup(name: str) -> Any:
            if name in values:
                return values[name]
            alias, _, column = name.partition(".")
            if alias not in keys:
                return place[name] if name in place else outer(name)
            return keys[alias] if column == "id" else self.tables[layout[alias].table][keys[alias]][column]

        return lookup

    def _constant(self, name: str) -> Any:
        return self.knobs[name] if name in self.knobs else self.compiled.constants[name]

    def draw(self, name: str, draw: CompiledDraw, lookup: Lookup) -> Any:
        """One value, drawn from the task's own generator. Raises SpecError."""
        try:
            return self._drawn(name, draw, lookup)
        except (ExpressionFault, KeyError) as fault:
            raise SpecError(f"{self.compiled.spec.name}: drawing {name}: {fault}") from fault

    def _drawn(self, name: str, draw: CompiledDraw, lookup: Lookup) -> Any:
        low, high = draw.bounds
        if draw.spec.between is not None:
            return self._between(name, low, high, lookup)
        source = draw.source(lookup) if isinstance(draw.source, Expression) else draw.source
        if draw.spec.value is not None:
            return source
        without = draw.without(lookup) if draw.without is not None else ()
        pool = [each for each in source or () if each not in without]
        if draw.spec.one_of is not None:
            return self.rng.choice(self._enough(name, pool, 1))
        count = len(pool) if draw.spec.shuffle is not None else self._between(name, low, high, lookup)
        chosen = self.rng.sample(self._enough(name, pool, count), count)
        if draw.plus is not None:
            chosen += draw.plus(lookup)
            self.rng.shuffle(chosen)
        if len(chosen) > MAX_ROWS:
            raise SpecError(f"{self.compiled.spec.name}: drawing {name}: {len(chosen)} values; at most {MAX_ROWS}")
        return chosen

    def _enough(self, name: str, pool: list[Any], count: int) -> list[Any]:
        if not 0 <= count <= len(pool):
            raise SpecError(f"{self.compiled.spec.name}: drawing {name}: {count} wanted from {len(pool)} values")
        return pool

    def _between(self, name: str, low: Expression | int, high: Expression | int, lookup: Lookup) -> int:
        try:
            least, most = (bound if isinstance(bound, int) else int(bound(lookup)) for bound in (low, high))
        except ExpressionFault as fault:
            raise SpecError(f"{self.compiled.spec.name}: drawing {name}: {fault}") from fault
        if least > most:
            raise SpecError(f"{self.compiled.spec.name}: drawing {name}: the range {least} to {most} is empty")
        return self.rng.randint(least, most)


@cache
def _plan(compiled: Compiled, template: str, table: str, case: str | None) -> tuple[Draws, tuple[str, ...]]:
    """What is drawn in a bundle, and in which order, so that each value has what it needs."""
    draws = compiled.bundles[table] | compiled.templates[template].draw.get(table, {})
    draws = draws | (compiled.cases[case][1] if case is not None else {})
    return draws, drawing_order(draws)


def _start(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
