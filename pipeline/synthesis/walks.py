"""Tasks by walking from tool to tool, after AutoForge (arXiv 2512.22857), without a model.

A walk draws a state, then deeds that the tools' requirements allow, one after the other in a running environment. A
row is told by its id, or found: a tool whose answer names just that row is called before, and the question says "that
claim". So the answer of one tool feeds the parameter of another, and what two deeds need is asked once. The golden
state is what the calls lead to; a walk that ends the same without one of its deeds is thrown away.
"""

import hashlib
import random
import re
from dataclasses import dataclass, field

from pipeline.environments.declared import DeclaredEnvironment
from pipeline.environments.declared.compiled import Compiled, CompiledTool, CompiledWalks
from pipeline.environments.declared.judging import Call
from pipeline.environments.declared.scope import Tables
from pipeline.environments.declared.walking import WALK
from pipeline.environments.worlds import World
from pipeline.errors import ToolError
from pipeline.records import JsonObject, Split, Task
from pipeline.synthesis.drawing import Drawing
from pipeline.synthesis.golden import Rejected, compiled_of, proved
from pipeline.synthesis.walk_words import Reference, asked, phrase
from pipeline.tables import dumps

TRIES = 30
"""Deeds that are tried before a walk counts as stuck."""
MAX_DEPTH = 2
"""Calls that lead from a row that the question names to the one that a deed is about."""
MAX_LOOKS = 40
"""Calls that may be tried to find one that leads to a row."""
_FOUND = 0.6
"""Probability that a row is to be found, where it can be."""


def walk_from(world: World, rng: random.Random, split: Split, seed: int) -> Task | Rejected:
    """Draw one walk. Its golden run is executed and earns outcome 1 and process 1."""
    compiled = compiled_of(world)
    assert compiled.walks is not None
    drawing = Drawing(compiled, rng.choice(list(compiled.templates.values())), split, rng)
    for _ in range(1 + compiled.spec.bystanders):
        drawing.root()
    walk = Walk(world, compiled, compiled.walks, drawing, rng)
    wanted = rng.randint(*compiled.walks.spec.length)
    while len(walk.deeds) < wanted and walk.go():
        pass
    if len(walk.deeds) < compiled.walks.spec.length[0]:
        return Rejected.STUCK
    if walk.needless():
        return Rejected.NEEDLESS
    golden = tuple({"name": call.tool, "arguments": call.arguments, "asked": True} for call in walk.calls)
    knobs = drawing.knobs | {
        "deeds": len(walk.deeds), "found": len(golden) - len(walk.deeds), "calls": len(golden), "opening": len(golden),
        "cases": [],
    }  # fmt: skip
    question = asked(rng, compiled.walks.spec, split, walk.said)
    identity = hashlib.sha256(dumps([world.name, WALK, question, drawing.tables]).encode()).hexdigest()[:16]
    return proved(world, Task(identity, world.name, WALK, split, seed, question, drawing.tables, {}, golden, knobs))


@dataclass(slots=True)
class Walk:
    """One walk as it grows."""

    world: World
    compiled: Compiled
    walks: CompiledWalks
    drawing: Drawing
    rng: random.Random
    calls: list[Call] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    deeds: list[Call] = field(default_factory=list)
    _that: dict[str, str] = field(default_factory=dict)
    """Table to the row that "that ..." stands for; empty where it would stand for none or for two."""
    _environment: DeclaredEnvironment = field(init=False)

    def __post_init__(self) -> None:
        self._environment = self._fresh()

    def go(self) -> bool:
        """Add one deed with what it needs; False when none is found."""
        return any(self._deed(self.compiled.tools[self.rng.choice(self.walks.deeds)]) for _ in range(TRIES))

    def needless(self) -> bool:
        """Whether the end is the same without one of the deeds, or not reached by the calls alone."""
        golden = self._environment.state()
        return any(self._end(without) == golden for without in self.deeds)

    def _deed(self, tool: CompiledTool) -> bool:
        rows = {name: self._some_row(tool.layout[alias].table) for name, alias in tool.keys.items()}
        if None in rows.values():
            return False
        found: dict[str, str] = {name: str(key) for name, key in rows.items()}
        call = Call(tool.name, {**found, **self._arguments(tool, found)})
        if call in self.deeds:
            return False
        references = self._references(tool, found)
        if references is None:
            return False
        made = self._make(tool, call)
        if made is None:
            return False
        self._note(tool, call, references)
        self._that |= made
        return True

    def _some_row(self, table: str) -> str | None:
        rows = sorted(self._tables[table])
        return self.rng.choice(rows) if rows else None

    @property
    def _tables(self) -> Tables:
        return self._environment.state()

    def _arguments(self, tool: CompiledTool, rows: dict[str, str]) -> JsonObject:
        """Values of the parameters that name no row, in the order of the tool."""
        aliases = {tool.keys[name]: key for name, key in rows.items()}
        scope = self.compiled.scope(self._tables, tool.layout, aliases, self.drawing.knobs)
        values: JsonObject = {}
        for name, its in tool.spec.parameters.items():
            if name in self.walks.draws[tool.name]:
                values[name] = self.drawing.draw(f"{tool.name}.{name}", self.walks.draws[tool.name][name], scope)
            elif its.key is None:
                values[name] = self.rng.choice(its.enum if its.enum is not None else (True, False))
        return values

    def _references(self, tool: CompiledTool, rows: dict[str, str]) -> dict[str, Reference] | None:
        """How each row of a deed is told; None when one cannot be."""
        out: dict[str, Reference] = {}
        for name, key in rows.items():
            table = tool.layout[tool.keys[name]].table
            reference = self._refer(table, key, MAX_DEPTH, {each for one in out.values() for each in one.found})
            if reference is None:
                return None
            out[name] = reference
        return out

    def _refer(self, table: str, key: str, depth: int, taken: set[str]) -> Reference | None:
        if self._that.get(table) == key:
            return Reference(f"that {self._row(table)}")
        if key not in self.drawing.tables[table]:
            return None  # a row that a deed made and that "that" no longer stands for
        known = table in self._that or table in taken
        found = None if known or depth == 0 or self.rng.random() >= _FOUND else self._find(table, key, depth, taken)
        return found or Reference(key, found={table: key})

    def _find(self, table: str, key: str, depth: int, taken: set[str]) -> Reference | None:
        """A call of a tool that leads to this row, and how its own row is told."""
        looks = [(tool, row) for tool in self.walks.leads for row in sorted(self._tables[self._led_from(tool)])]
        for name, row in self.rng.sample(looks, min(MAX_LOOKS, len(looks))):
            if self._led_from(name) == table or self._named(name, row, table) != [key]:
                continue
            start = self._refer(self._led_from(name), row, depth - 1, taken | {table})
            if start is not None:
                tool = self.compiled.tools[name]
                [parameter] = tool.keys
                said = phrase(tool, {parameter: start.words}, {parameter: self._row(self._led_from(name))})
                return Reference(
                    f"that {self._row(table)}", [*start.calls, Call(name, {parameter: row})], [*start.said, said],
                    start.found | {table: key},
                )  # fmt: skip
        return None

    def _led_from(self, name: str) -> str:
        tool = self.compiled.tools[name]
        [alias] = tool.keys.values()
        return tool.layout[alias].table

    def _named(self, name: str, row: str, table: str) -> list[str]:
        """Rows of `table` that the answer of a tool names."""
        [parameter] = self.compiled.tools[name].keys
        try:
            return self._ids(str(getattr(self._environment, name)(**{parameter: row})), table)
        except ToolError:
            return []

    def _ids(self, answer: str, table: str) -> list[str]:
        found = re.findall(rf"(?<!\w){self.compiled.tables[table].spec.prefix}-[0-9]+(?!\w)", answer)
        return list(dict.fromkeys(found))

    def _make(self, tool: CompiledTool, call: Call) -> dict[str, str] | None:
        """Make the call; None when it is refused or changes nothing, else the row it added, if the answer names it."""
        before, table = self._environment.state_hash(), tool.spec.insert and tool.spec.insert.table
        rows = list(self._tables[table]) if table else []
        try:
            answer = str(getattr(self._environment, call.tool)(**call.arguments))
        except ToolError:
            return None
        if self._environment.state_hash() == before:
            return None
        if not table:
            return {}
        made = [key for key in self._tables[table] if key not in rows]
        return {table: made[0] if made == self._ids(answer, table) else ""}

    def _note(self, tool: CompiledTool, call: Call, references: dict[str, Reference]) -> None:
        for reference in references.values():
            for before, said in zip(reference.calls, reference.said, strict=True):
                if before not in self.calls:
                    self.calls.append(before)
                    self.said.append(said)
            for table, key in reference.found.items():
                twice = sum(table in other.found for other in references.values()) > 1
                self._that[table] = "" if twice else key
        words = {name: str(value) for name, value in call.arguments.items()}
        words |= {name: reference.words for name, reference in references.items()}
        rows = {name: self._row(tool.layout[alias].table) for name, alias in tool.keys.items()}
        self.said.append(phrase(tool, words, rows))
        self.calls.append(call)
        self.deeds.append(call)

    def _row(self, table: str) -> str:
        return self.compiled.tables[table].spec.row.replace("_", " ")

    def _fresh(self) -> DeclaredEnvironment:
        environment = self.world.factory()
        assert isinstance(environment, DeclaredEnvironment)
        environment.reset(initial_state=self.drawing.tables, golden_state={}, golden_calls=[])
        return environment

    def _end(self, without: Call) -> JsonObject:
        """The state that the walk reaches without one deed; what is then refused is left out."""
        environment = self._fresh()
        for call in self.calls:
            if call is not without:
                try:
                    getattr(environment, call.tool)(**call.arguments)
                except ToolError:
                    continue
        return environment.state()
