"""The second half of compiling: procedure, habits, cases and templates."""

import string
from collections.abc import Iterator, Mapping
from dataclasses import replace
from graphlib import CycleError

from cel_expr_python import cel

from pipeline.environments.declared.bundles import Bundles, circle_of, drawing_order
from pipeline.environments.declared.compiled import (
    Compiled,
    CompiledHabit,
    CompiledRule,
    CompiledStep,
    CompiledTemplate,
    Draws,
)
from pipeline.environments.declared.compiler import STRINGS, Compiler, Types
from pipeline.environments.declared.expressions import Expression
from pipeline.environments.declared.reading import Path
from pipeline.environments.declared.rules import Habit, Rule, Step
from pipeline.environments.declared.spec import Template
from pipeline.environments.declared.walking import compile_walks


class Planner:
    """Compiles what `Compiler` left, with its tables and tools at hand."""

    def __init__(self, compiler: Compiler) -> None:
        self._c, self._spec = compiler, compiler.spec
        rows = {table.row: name for name, table in self._spec.tables.items()}
        self.subject = rows[compiler.known(("procedure", "subject"), self._spec.procedure.subject, rows, "row")]
        self._b = Bundles(compiler)
        if self.subject not in self._b.roots:
            compiler.fail(("procedure", "subject"), f"rows of {self.subject} only come along with others; subjects are "
                          "roots of templates, or come from a `rows` column")  # fmt: skip

    def compiled(self) -> Compiled:
        """The whole spec. Raises SpecError at the first fault."""
        steps = tuple(self._step(number, step) for number, step in enumerate(self._spec.procedure.steps))
        habits = {name: self._habit(name, habit) for name, habit in self._spec.procedure.habits.items()}
        bundles = {table: self._b.bundle(table) for table in self._b.roots}
        cases = {}
        rules = [rule.name for step in steps for rule in step.rules]
        for name, case in self._spec.cases.items():
            rule = self._c.known(("cases", name, "rule"), case.rule, rules, "rule of the procedure")
            cases[name] = (rule, self._b.overrides(("cases", name, "draw"), case.draw, self.subject))
        templates: dict[str, CompiledTemplate] = {}
        for name, its in self._spec.templates.items():
            for one in self._templates(name, its):
                if one.name in templates:
                    self._c.fail(("templates", name), f"makes a second template called {one.name!r}; call it otherwise")
                templates[one.name] = one
        if all(template.unseen for template in templates.values()):
            self._c.fail(("templates",), "all templates are unseen, so there is nothing to train on; show at least one")
        self._check_orders(bundles, cases, templates)
        return Compiled(
            self._spec, self._c.constants, self._c.tables, self._c.tools, self.subject, steps, habits, bundles,
            self._b.counts(), cases, templates, self._user(), compile_walks(self._c, self._b),
        )  # fmt: skip

    def _user(self) -> dict[str, Expression]:
        user = self._spec.user
        if user is None:
            for name, template in self._spec.templates.items():
                if template.clarify is not None:
                    self._c.fail(("templates", name, "clarify"), "there is no user to ask; declare one under `user`")
            return {}
        types = self._c.row_types(self.subject)
        values = {}
        for name, text in user.values.items():
            path: Path = ("user", "values", name)
            self._c.known(path, name, user.script.knows, "fact that the user knows")
            values[name] = self._c.expression(path, text, types, cel.Type.STRING)
        wanting = user.script.with_values(dict.fromkeys(values, "x")).missing()
        if wanting is not None:
            self._c.fail(
                ("user", "script", "knows", wanting), "its phrases say {value}, but it has none; add it to values"
            )
        return values

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

    def _templates(self, name: str, template: Template) -> Iterator[CompiledTemplate]:
        cases = template.cases or tuple(self._spec.cases)
        for case in cases:
            self._c.known(("templates", name, "cases"), case, self._spec.cases, "case")
        whole = self._template(name, template, cases)
        if not template.each_case:
            yield whole
            return
        for case in cases:
            traffic = template.traffic * self._spec.cases[case].traffic
            yield replace(whole, name=case, cases=(case,), traffic=traffic)

    def _template(self, name: str, template: Template, cases: tuple[str, ...]) -> CompiledTemplate:
        path: Path = ("templates", name)
        types = self._c.row_types(template.root)
        ask = self._c.known((*path, "ask"), template.ask, self._spec.ask, "list of phrases")
        asking = self._spec.ask[ask]
        askable = {*types, *self._c.row_types(self.subject), *self._b.knobs}
        for place, phrases in (
            (("ask", ask, "phrases"), asking.phrases), (("ask", ask, "held_out"), asking.held_out),
            (("contradictions",), self._spec.contradictions), (("asides",), self._spec.asides),
        ):  # fmt: skip
            for number, phrase in enumerate(phrases):
                self._placeholders((*place, number), phrase, askable)
        draws: dict[str, Draws] = {}
        for table in dict.fromkeys((template.root, self.subject)):
            mine = {key: draw for key, draw in template.draw.items() if key in self._b.drawn(table)}
            draws[table] = self._b.overrides((*path, "draw"), mine, table)
        drawn = [*self._b.drawn(template.root), *self._b.drawn(self.subject)]
        for dotted in template.draw:
            self._c.known((*path, "draw", dotted), dotted, drawn, "value that can be drawn otherwise")
        subjects = self._c.expression((*path, "subjects"), template.subjects, types, STRINGS)
        knobs = {
            knob: (
                self._b.bound((*path, "knobs", knob, 0), low, {}),
                self._b.bound((*path, "knobs", knob, 1), high, {}),
            )
            for knob, (low, high) in (self._spec.knobs | template.knobs).items()
        }
        return CompiledTemplate(
            name, template.root, subjects, cases, draws, knobs,
            tuple(
                (call.call, self._c.arguments((*path, "opening", place), call.call, call.arguments, types))
                for place, call in enumerate(template.opening)
            ),
            asking.phrases, asking.held_out, template.traffic, template.clarify,
            template.unseen,
        )  # fmt: skip

    def _check_orders(
        self, bundles: Mapping[str, Draws], cases: Mapping[str, tuple[str, Draws]],
        templates: Mapping[str, CompiledTemplate],
    ) -> None:  # fmt: skip
        """Fail where values would be drawn from each other: in a bundle, or with what cases and templates change."""
        for table, draws in bundles.items():
            self._check_order(("tables", table), draws)
        for case, (_, draws) in cases.items():
            self._check_order(("cases", case, "draw"), bundles.get(self.subject, {}) | draws)
        for name, template in templates.items():
            path: Path = ("templates", name, "draw")
            for table, draws in template.draw.items():
                if not draws:
                    continue
                whole = bundles.get(table, {}) | draws
                self._check_order(path, whole)
                for case in template.cases if table == self.subject else ():
                    self._check_order(path, whole | cases[case][1])

    def _check_order(self, path: Path, draws: Draws) -> None:
        try:
            drawing_order(draws)
        except CycleError as error:
            self._c.fail(path, f"values that are drawn from each other: {circle_of(error)}")

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
