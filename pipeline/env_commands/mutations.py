"""Golden runs with one fault each: what graders must tell from a run that is right.

An effect is a call of a tool that changes something; a wrong or missing one must cost the outcome. A check that the
procedure demands must cost the process when it is skipped. A read that nothing demands costs neither.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pipeline.environments.declared.compiled import Compiled
from pipeline.environments.declared.judging import decisions
from pipeline.environments.declared.spec import Parameter, Tool
from pipeline.environments.tools import call_tool, reset_arguments
from pipeline.environments.worlds import World
from pipeline.graders.reward import outcome, process
from pipeline.records import Grade, JsonObject, Task, ToolCall
from pipeline.synthesis.tasks import compiled_of
from pipeline.tables import dumps

OTHER_ROWS = 3
"""Rows that are tried in the place of the one that a call is about."""


class Kind(StrEnum):
    """What is wrong with a run."""

    EFFECT_MISSING = "effect missing"
    """A call that changes something is left out."""
    EFFECT_WRONG = "effect wrong"
    """A call that changes something is another one, or has another argument."""
    CHECK_SKIPPED = "check skipped"
    """A demanded call that changes nothing is left out."""
    READ_DROPPED = "read dropped"
    """A call that changes nothing, and that nothing demands, is left out."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A golden run with one fault, and in words which."""

    kind: Kind
    calls: tuple[JsonObject, ...]
    what: str

    def complaint(self, grades: Sequence[Grade]) -> str:
        """What is wrong with the grades of this run; empty when they are what they must be."""
        end, way = outcome(grades), process(grades)
        if self.kind in (Kind.EFFECT_MISSING, Kind.EFFECT_WRONG):
            return "" if end == 0.0 else f"a run {self.what} earns outcome {end}: its end state is the right one"
        if self.kind is Kind.CHECK_SKIPPED:
            return "" if way is not None and way < 1.0 else f"a run {self.what} earns process {way}: nothing misses it"
        fine = end == 1.0 and way == 1.0
        return "" if fine else f"a run {self.what} earns outcome {end} and process {way}, though nothing demands it"


def mutations(world: World, task: Task) -> Iterator[Mutation]:
    """Every single fault of a task's golden run, in the order of its calls."""
    compiled = compiled_of(world)
    for call in _distinct(task.golden_calls):
        tool = compiled.tools[call["name"]].spec
        rest = tuple(each for each in task.golden_calls if each != call)
        shown = show_call(call)
        if not tool.change and tool.insert is None:
            kind = Kind.CHECK_SKIPPED if tool.demanded and not call.get("asked") else Kind.READ_DROPPED
            yield Mutation(kind, rest, f"without {shown}")
            continue
        yield Mutation(Kind.EFFECT_MISSING, rest, f"without {shown}")
        for other in _distinct(_others(compiled, task, call, tool)):
            calls = tuple(other if each == call else each for each in task.golden_calls)
            yield Mutation(Kind.EFFECT_WRONG, calls, f"{show_call(other)} instead of {shown}")


def play(world: World, task: Task, calls: Sequence[JsonObject]) -> tuple[Grade, ...]:
    """Grades of a run that makes `calls`, refused ones included."""
    environment = world.factory()
    environment.reset(**reset_arguments(task))
    for number, call in enumerate(calls):
        call_tool(environment, ToolCall(str(number), call["name"], call["arguments"], dumps(call["arguments"])))
    return environment.grade()


def show_call(call: JsonObject) -> str:
    """A call in one line: `get_claim claim_id=C-1234`."""
    words = (f"{name}={dumps(value) if _quoted(value) else value}" for name, value in call["arguments"].items())
    return " ".join([call["name"], *words])


def _quoted(value: Any) -> bool:
    return not isinstance(value, str) or not value or any(sign in value for sign in " \t\n'\"=\\")


def _others(compiled: Compiled, task: Task, call: JsonObject, tool: Tool) -> Iterator[JsonObject]:
    """Other calls in the place of an effect: other decisions about its subject, and its own with one other argument."""
    if tool.decides is not None and not call.get("asked"):
        subject = str(call["arguments"][tool.decides])
        for _, other in decisions(compiled, task.initial_state, subject):
            if (other.tool, other.arguments) != (call["name"], call["arguments"]):
                yield {"name": other.tool, "arguments": other.arguments}
    for name, parameter in tool.parameters.items():
        for value in _values(task, parameter, call["arguments"][name]):
            yield {"name": call["name"], "arguments": {**call["arguments"], name: value}}


def _values(task: Task, parameter: Parameter, value: Any) -> list[Any]:
    if parameter.key is not None:
        return [key for key in task.initial_state[parameter.key] if key != value][:OTHER_ROWS]
    if parameter.enum is not None:
        return [each for each in parameter.enum if each != value]
    if parameter.type == "bool":
        return [not value]
    return [f"{value}x", f"not {value}"] if parameter.type == "string" else [value + 1, value - 1]


def _distinct(calls: Sequence[JsonObject] | Iterator[JsonObject]) -> list[JsonObject]:
    return list({dumps(call): call for call in calls}.values())
