"""A scripted agent of uneven skill: the procedure, minus habits.

Habits, not only noise: an agent may never make a given check, overlook a rule, or see to a decision in its own way, as
the spec's `habits` say. A habit often does no harm, since most subjects pass the check that was skipped; so many
successful runs were made the wrong way, as in real life.
"""

import random
from dataclasses import dataclass, field

import orjson

from pipeline.environments import Environment
from pipeline.environments.declared.compiled import Compiled, CompiledHabit
from pipeline.environments.declared.judging import Call, Verdict, decisions, judge
from pipeline.environments.declared.walking import changes
from pipeline.environments.tools import call_tool, reset_arguments
from pipeline.environments.users import ScriptedUser
from pipeline.environments.worlds import World
from pipeline.records import Grade, Message, Task, ToolCall
from pipeline.synthesis.tasks import compiled_of


def draw_habits(compiled: Compiled, rng: random.Random, probability: float) -> frozenset[str]:
    """The habits of one agent, each with the same probability."""
    return frozenset(habit for habit in compiled.habits if rng.random() < probability)


@dataclass(slots=True)
class _Run:
    """One run: the environment, and the conversation as it grows."""

    environment: Environment
    messages: list[Message]
    reports: list[str] = field(default_factory=list)

    def call(self, call: Call) -> None:
        """Make one call in a turn of its own."""
        identity = f"call_{len(self.messages)}"
        made = ToolCall(identity, call.tool, dict(call.arguments), orjson.dumps(call.arguments).decode())
        answer = call_tool(self.environment, made)
        self.messages.append(Message("assistant", None, (made,)))
        self.messages.append(Message("tool", answer.content, tool_call_id=identity, name=call.tool))


def run_scripted(
    world: World, task: Task, habits: frozenset[str], rng: random.Random, slip: float = 0.0
) -> tuple[tuple[Message, ...], tuple[Grade, ...]]:
    """Work on a task; `slip` is the probability of a mistyped id and, apart, of a careless decision a subject."""
    compiled = compiled_of(world)
    environment = world.factory()
    environment.reset(**reset_arguments(task))
    run = _Run(environment, [Message("system", world.procedure), Message("user", task.question)])
    template = compiled.templates.get(task.template)
    clarify = None if template is None else template.clarify
    if clarify is not None and environment.user is not None:
        run.messages.append(Message("assistant", clarify))
        run.messages.append(Message("user", ScriptedUser(environment.user, task.task_id).answer(clarify)))
    for call in task.golden_calls[: task.knobs["opening"]]:
        run.call(Call(call["name"], call["arguments"]))
        tool = compiled.tools[call["name"]].spec
        if call.get("asked") and changes(tool):
            run.reports.append(tool.report or call["name"])
    habit = combined(compiled, habits)
    for subject in subjects(compiled, task):
        _work(compiled, run, task, subject, habit, rng, slip)
    closing = compiled.spec.procedure.closing.replace("{decisions}", ", ".join(run.reports))
    run.messages.append(Message("assistant", closing))
    return tuple(run.messages), environment.grade()


def subjects(compiled: Compiled, task: Task) -> list[str]:
    """Ids of the rows that a task's golden calls decide about, in order; none where calls were asked for outright."""
    found = []
    for call in task.golden_calls:
        by = compiled.tools[call["name"]].spec.decides
        if by is not None and not call.get("asked"):
            found.append(str(call["arguments"][by]))
    return list(dict.fromkeys(found))


def combined(compiled: Compiled, names: frozenset[str]) -> CompiledHabit:
    """Several habits at once; of two that touch the same rule the later one in the spec holds."""
    chosen = [habit for name, habit in compiled.habits.items() if name in names]
    out = CompiledHabit()
    for habit in chosen:
        out = CompiledHabit(
            out.skip | habit.skip, out.ignore | habit.ignore, out.sees | habit.sees, out.arguments | habit.arguments,
            habit.again or out.again,
        )  # fmt: skip
    return out


def _work(
    compiled: Compiled, run: _Run, task: Task, subject: str, habit: CompiledHabit, rng: random.Random, slip: float
) -> None:
    verdict = judge(compiled, task.initial_state, subject, habit)
    if rng.random() < slip and verdict.checks:
        run.call(_mistyped(verdict.checks[0], rng))
    for check in verdict.checks:
        run.call(check)
    decision = verdict.decision
    if rng.random() < slip:
        decision = _careless(compiled, task, subject, verdict, rng)
    run.call(decision)
    run.reports.append(compiled.tools[decision.tool].spec.report or decision.tool)


def _mistyped(call: Call, rng: random.Random) -> Call:
    arguments = dict(call.arguments)
    for name, value in arguments.items():
        if isinstance(value, str) and "-" in value:
            prefix, _, digits = value.rpartition("-")
            arguments[name] = f"{prefix}-{rng.randrange(10 ** (len(digits) - 1), 10 ** len(digits))}"
            break
    return Call(call.tool, arguments)


def _careless(compiled: Compiled, task: Task, subject: str, verdict: Verdict, rng: random.Random) -> Call:
    others = [call for _, call in decisions(compiled, task.initial_state, subject) if call != verdict.decision]
    return rng.choice(others) if others else verdict.decision
