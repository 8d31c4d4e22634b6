"""The second half of compiling: procedure, habits, what is drawn, cases and templates."""

import string
from collections.abc import Iterator, Mapping

from cel_expr_python import cel

from pipeline.environments.declared.columns import Bound, Draw
from pipeline.environments.declared.compiled import (
    Compiled,
    CompiledDraw,
    CompiledHabit,
    CompiledRule,
    CompiledStep,
    CompiledTemplate,
    Draws,
)
from pipeline.environments.declared.compiler import STRINGS, Compiler, Types, plain
from pipeline.environments.declared.expressions import LIST, TYPES, Expression, constant_type
from pipeline.environments.declared.reading import Path
from pipeline.environments.declared.scope import layout_types
from pipeline.environments.declared.spec import Habit, Rule, Step, Template

_CHILD = {"index": cel.Type.INT, "count": cel.Type.INT, "siblings": STRINGS}
"""What a row created through a `rows` column knows of its place among its siblings; a root is the first of one."""


class Planner:
    """Compiles what `Compiler` left, with its tables and tools at hand."""

    def __init__(self, compiler: Compiler) -> None:
        self._c, self._spec = compiler, compiler.spec
        rows = {table.row: name for name, table in self._spec.tables.items()}
        self.subject = rows[compiler.known(("procedure", "subject"), self._spec.procedure.subject, rows, "row")]
        self._knobs: Types = dict.fromkeys(self._knob_names(), cel.Type.INT)

    def compiled(self) -> Compiled:
        """The whole spec. Raises SpecError at the first fault."""
        steps = tuple(self._step(number, step) for number, step in enumerate(self._spec.procedure.steps))
        habits = {name: self._habit(name, habit) for name, habit in self._spec.procedure.habits.items()}
        bundles = {table: self._bundle(table) for table in self._roots()}
        cases = {}
        rules = [rule.name for step in steps for rule in step.rules]
        for name, case in self._spec.cases.items():
            rule = self._c.known(("cases", name, "rule"), case.rule, rules, "rule of the procedure")
            cases[name] = (rule, self._overrides(("cases", name, "draw"), case.draw, self.subject))
        templates = {one.name: one for name, its in self._spec.templates.items() for one in self._templates(name, its)}
        return Compiled(
            self._spec, self._c.constants, self._c.tables, self._c.tools, self.subject, steps, habits, bundles,
            self._counts(), cases, templates,
        )  # fmt: skip

    def _knob_names(self) -> set[str]:
        return {*self._spec.knobs, *(name for template in self._spec.templates.values() for name in template.knobs)}

    def _step(self, number: int, step: Step) -> CompiledStep:
        path: Path = ("procedure", "steps", number)
        types = self._c.row_types(self.subject)
        each = None if step.each is None else self._c.expression((*path, "each"), step.each, types, STRINGS)
        when = None if step.when is None else self._c.expression((*path, "when"), step.when, types, cel.Type.BOOL)
        arguments = self._c.arguments(
            path, step.call, step.arguments, types | ({"item": cel.Type.STRING} if each else {})
        )
        rules = tuple(self._rule((*path, "rules", place), rule, types) for place, rule in enumerate(step.rules))
        return CompiledStep(step.call, arguments, each, when, rules)

    def _rule(self, path: Path, rule: Rule, types: Types) -> CompiledRule:
        when = self._c.expression((*path, "when"), rule.when, types, cel.Type.BOOL)
        arguments = self._c.arguments(path, rule.call, rule.arguments, types)
        if self._spec.tools[rule.call].decides is None:
            self._c.fail((*path, "call"), f"{rule.call} decides nothing; say which parameter it decides about")
        return CompiledRule(rule.name, when, rule.call, arguments)

    def _habit(self, name: str, habit: Habit) -> CompiledHabit:
        path: Path = ("procedure", "habits", name)
        types = self._c.row_types(self.subject)
        steps = {step.call for step in self._spec.procedure.steps}
        rules = {rule.name: rule.call for step in self._spec.procedure.steps for rule in step.rules}
        for tool in (*habit.skip, *((habit.again,) if habit.again else ())):
            self._c.known(path, tool, steps, "step")
        for rule in (*habit.ignore, *habit.sees, *habit.arguments):
            self._c.known(path, rule, rules, "rule")
        sees = {
            rule: self._c.expression((*path, "sees", rule), text, types, cel.Type.BOOL)
            for rule, text in habit.sees.items()
        }
        arguments = {
            rule: self._c.arguments((*path, "arguments", rule), rules[rule], given, types)
            for rule, given in habit.arguments.items()
        }
        return CompiledHabit(frozenset(habit.skip), frozenset(habit.ignore), sees, arguments, habit.again)

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

    def _counts(self) -> dict[tuple[str, str], tuple[Expression | int, Expression | int]]:
        out = {}
        for table, spec in self._spec.tables.items():
            for name, column in spec.columns.items():
                if column.rows is not None:
                    path: Path = ("tables", table, "columns", name, "rows", "count")
                    low, high = column.rows.count
                    out[table, name] = (
                        self._bound((*path, 0), low, self._knobs), self._bound((*path, 1), high, self._knobs),
                    )  # fmt: skip
        return out

    def _bundle_types(self, table: str) -> Types:
        layout = self._c.tables[table].layout
        types = layout_types(layout, self._c.tables, computed=False) | self._knobs | _CHILD
        for alias, target in layout.items():
            for name, draw in self._spec.tables[target.table].let.items():
                path: Path = ("tables", target.table, "let", name)
                types[f"{alias}.{name}"] = self._drawn_type(self._draw(path, draw, types, None))
        return types

    def _bundle(self, table: str) -> Draws:
        types = self._bundle_types(table)
        out: Draws = {}
        for alias, target in self._c.tables[table].layout.items():
            spec = self._spec.tables[target.table]
            for name, draw in spec.let.items():
                out[f"{alias}.{name}"] = self._draw(("tables", target.table, "let", name), draw, types, None)
            for name, column in spec.columns.items():
                if column.draw is not None:
                    path: Path = ("tables", target.table, "columns", name, "draw")
                    out[f"{alias}.{name}"] = self._draw(path, column.draw, types, TYPES[column.type])
        return out

    def _overrides(self, path: Path, draws: Mapping[str, Draw], table: str) -> Draws:
        types = self._bundle_types(table)
        for dotted in draws:
            self._c.known((*path, dotted), dotted, types.keys() - self._knobs.keys() - _CHILD.keys(), "drawn value")
        return {
            dotted: self._draw((*path, dotted), draw, types, types[dotted]) for dotted, draw in draws.items()
        }  # fmt: skip

    def _draw(self, path: Path, draw: Draw, types: Types, wanted: cel.Type | None) -> CompiledDraw:
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
            (self._bound((*path, place, 0), bounds[0], types), self._bound((*path, place, 1), bounds[1], types)),
            None if draw.without is None else self._c.expression((*path, "without"), draw.without, types, LIST),
            None if draw.plus is None else self._c.expression((*path, "plus"), draw.plus, types, LIST),
        )  # fmt: skip
        found = self._drawn_type(made)
        if wanted is not None and cel.Type.DYN not in (found, wanted) and not wanted.is_assignable_from(found):
            self._c.fail(path, f"draws {found.name().lower()}, but {wanted.name().lower()} is needed here")
        return made

    def _bound(self, path: Path, bound: Bound, types: Types) -> Expression | int:
        return bound if isinstance(bound, int) else self._c.expression(path, bound, types, cel.Type.INT)

    def _drawn_type(self, draw: CompiledDraw) -> cel.Type:
        if draw.spec.between is not None:
            return cel.Type.INT
        if isinstance(draw.source, Expression):
            return cel.Type.DYN if draw.spec.one_of is not None else draw.source.type
        if isinstance(draw.source, tuple):
            literal = constant_type(list(draw.source))
            return literal if draw.spec.some_of is not None else constant_type(draw.source[0])
        return cel.Type.DYN

    def _templates(self, name: str, template: Template) -> Iterator[CompiledTemplate]:
        cases = template.cases or tuple(self._spec.cases)
        for case in cases:
            self._c.known(("templates", name, "cases"), case, self._spec.cases, "case")
        if not template.each_case:
            yield self._template(name, template, name, cases, template.traffic)
            return
        for case in cases:
            yield self._template(name, template, case, (case,), template.traffic * self._spec.cases[case].traffic)

    def _template(
        self, name: str, template: Template, label: str, cases: tuple[str, ...], traffic: float
    ) -> CompiledTemplate:
        path: Path = ("templates", name)
        types = self._c.row_types(template.root)
        ask = self._c.known((*path, "ask"), template.ask, self._spec.ask, "list of phrases")
        asking = self._spec.ask[ask]
        askable = {*types, *self._c.row_types(self.subject), *self._knobs}
        for place, phrases in (
            (("ask", ask, "phrases"), asking.phrases), (("ask", ask, "held_out"), asking.held_out),
            (("contradictions",), self._spec.contradictions), (("asides",), self._spec.asides),
        ):  # fmt: skip
            for number, phrase in enumerate(phrases):
                self._placeholders((*place, number), phrase, askable)
        draws: dict[str, Draws] = {}
        for table in dict.fromkeys((template.root, self.subject)):
            mine = {key: draw for key, draw in template.draw.items() if key in self._bundle_types(table)}
            draws[table] = self._overrides((*path, "draw"), mine, table)
        for dotted in template.draw:
            self._c.known(
                (*path, "draw", dotted), dotted, {key for each in draws.values() for key in each}, "drawn value"
            )
        subjects = self._c.expression((*path, "subjects"), template.subjects, types, STRINGS)
        knobs = {
            knob: (self._bound((*path, "knobs", knob, 0), low, {}), self._bound((*path, "knobs", knob, 1), high, {}))
            for knob, (low, high) in (self._spec.knobs | template.knobs).items()
        }
        return CompiledTemplate(
            label, template.root, subjects, cases, draws, knobs,
            tuple(
                (call.call, self._c.arguments((*path, "opening", place), call.call, call.arguments, types))
                for place, call in enumerate(template.opening)
            ),
            asking.phrases, asking.held_out, traffic,
        )  # fmt: skip

    def _placeholders(self, path: Path, phrase: str, known: set[str]) -> None:
        try:
            parts = list(string.Formatter().parse(phrase))
        except ValueError as error:
            self._c.fail(path, f"{error}; write {{{{ and }}}} for braces that are meant as such")
        for _, name, layout, conversion in parts:
            if name is not None:
                self._c.known(path, name, known, "value for a phrase")
            if layout or conversion:
                self._c.fail(path, f"{{{name}}} takes no format; write the name alone")


def _source_type(way: str, wanted: cel.Type | None) -> cel.Type | None:
    """Type of the expression that a value of type `wanted` is drawn from."""
    if way == "one_of":
        return LIST if wanted is None else cel.Type.List(wanted)
    return wanted if way == "value" else (wanted or LIST)
