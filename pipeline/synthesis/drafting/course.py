"""How the recorded work went: what it was about, which calls ended it, and what was asked for before.

All of it is guessed from runs that did well, and marked so in the draft.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.environments.recordings import RecordedCall, Recording
from pipeline.synthesis.drafting.rows import SeenTable
from pipeline.synthesis.drafting.seen import SeenTool
from pipeline.tables import dumps

READING = frozenset({
    "calculate", "check", "compute", "count", "describe", "fetch", "find", "get", "glob", "grep", "inspect", "list",
    "look", "open", "query", "read", "search", "show", "view",
})  # fmt: skip
"""First words of names of tools that are taken to change nothing."""
_MOSTLY = 0.8
_OFTEN = 0.5
MAX_VALUES = 20


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A call that most good runs made before the matter was decided; `argument` says whose id it names."""

    tool: str
    expression: dict[str, str]
    share: float


@dataclass(frozen=True, slots=True)
class Course:
    """Subject table, the tools that decide about its rows with how often they did, and the steps before."""

    subject: SeenTable
    decides: dict[str, int]
    steps: tuple[SeenStep, ...]
    given: dict[str, dict[str, tuple[Any, ...]]] = field(default_factory=dict)
    """Deciding tool to parameter to the values seen, where it is no id."""
    left_out: tuple[str, ...] = ()


def guess_course(
    recordings: Sequence[Recording], tools: dict[str, SeenTool], tables: dict[str, SeenTable]
) -> Course | None:
    """The course of the work; None when no call that could end it is about a row."""
    names = {tool.recorded: tool for tool in tools.values()}
    good = [one for one in recordings if one.reward is not None and one.reward >= 1.0] or list(recordings)
    ends = Counter(tool.key.table for tool in _last_calls(good, names) if tool.key is not None)
    for table, _ in ends.most_common():
        assert table is not None
        stretches = [each for one in good for each in _stretches(one, names, table)]
        decides = _deciding(stretches, names, table)
        if decides:
            steps, left_out = _steps(stretches, decides, names, tables, tables[table])
            given = _given(tools, decides, paths(tables[table], tables))
            return Course(tables[table], decides, steps, given, left_out)
    return None


def paths(table: SeenTable, tables: dict[str, SeenTable]) -> dict[str, str]:
    """Tables that a row of `table` leads to by single references, and the expression of the id there."""
    found = {table.name: f"{table.row}.id"}
    queue = [(table, table.row)]
    for one, alias in queue:
        for column, other in one.refs.items():
            if other not in found:
                found[other] = f"{alias}.{column}"
                queue.append((tables[other], column))
    return found


def reads(name: str) -> bool:
    """Whether a tool is taken to change nothing, by the first word of its name."""
    return name.partition("_")[0] in READING


def _last_calls(recordings: Sequence[Recording], names: dict[str, SeenTool]) -> Iterator[SeenTool]:
    for one in recordings:
        known = [names[call.tool] for call in one.calls if call.tool in names]
        acting = [tool for tool in known if not reads(tool.name)]
        if acting:
            yield acting[-1]


def _stretches(one: Recording, names: dict[str, SeenTool], table: str) -> Iterator[list[RecordedCall]]:
    """A run cut behind the last call about each row of `table`."""
    calls = [call for call in one.calls if call.tool in names]
    last: dict[str, int] = {}
    for place, call in enumerate(calls):
        key = names[call.tool].key
        if key is not None and key.table == table:
            last[str(names[call.tool].value(call, key))] = place
    start = 0
    for end in sorted(last.values()):
        yield calls[start : end + 1]
        start = end + 1


def _deciding(stretches: list[list[RecordedCall]], names: dict[str, SeenTool], table: str) -> dict[str, int]:
    """Tools that act on rows of `table` and mostly are the last to."""
    made = Counter(call.tool for stretch in stretches for call in stretch)
    last = Counter(stretch[-1].tool for stretch in stretches)
    chosen = {
        names[tool].name: count for tool, count in last.items()
        if count >= _MOSTLY * made[tool] and not reads(names[tool].name)
    }  # fmt: skip
    return {name: chosen[name] for name in [tool.name for tool in names.values()] if name in chosen}


def _steps(
    stretches: list[list[RecordedCall]], decides: dict[str, int], names: dict[str, SeenTool],
    tables: dict[str, SeenTable], subject: SeenTable,
) -> tuple[tuple[SeenStep, ...], tuple[str, ...]]:  # fmt: skip
    """Calls made in at least half of the stretches that were decided, in their usual order."""
    decided = [stretch for stretch in stretches if names[stretch[-1].tool].name in decides]
    places: dict[str, list[int]] = {}
    for stretch in decided:
        before = [names[call.tool].name for call in stretch[:-1]]
        for name in dict.fromkeys(before):
            places.setdefault(name, []).append(before.index(name))
    steps: list[SeenStep] = []
    left_out: list[str] = []
    for name in sorted(places, key=lambda each: (sum(places[each]) / len(places[each]), each)):
        share = len(places[name]) / len(decided)
        tool = next(tool for tool in names.values() if tool.name == name)
        expression = _arguments(tool, paths(subject, tables))
        if name in decides or share < _OFTEN or expression is None:
            left_out.append(f"{name}, in {share:.0%} of them" + ("" if expression is not None else
                            ", whose arguments nothing here gives"))  # fmt: skip
        else:
            steps.append(SeenStep(name, expression, share))
    return tuple(steps), tuple(left_out)


def _arguments(tool: SeenTool, known: dict[str, str]) -> dict[str, str] | None:
    """Arguments of a step as expressions; None when one is neither an id that is known nor always the same."""
    found: dict[str, str] = {}
    for name, parameter in tool.parameters.items():
        values = _values(parameter.values)
        if parameter.table in known:
            found[name] = known[str(parameter.table)]
        elif parameter.table is None and len(parameter.values) == len(tool.calls) and len(values) == 1:
            found[name] = literal(values[0])
        else:
            return None
    return found


def literal(value: Any) -> str:
    """A value as an expression."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    escaped = "".join(_ESCAPES.get(each, each) for each in str(value))
    return f"'{escaped}'"


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _given(
    tools: dict[str, SeenTool], decides: dict[str, int], known: dict[str, str]
) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Values of the deciding tools' parameters; an id that nothing leads to from the subject becomes a plain text."""
    found: dict[str, dict[str, tuple[Any, ...]]] = {}
    for name in decides:
        found[name] = {}
        for parameter in tools[name].parameters.values():
            if parameter.table is not None and parameter.table not in known:
                parameter.notes.append(f"names one of {parameter.table}, but nothing leads there from the subject")
                parameter.table = None
            if parameter.table is None:
                found[name][parameter.name] = _values(parameter.values)[:MAX_VALUES]
    return found


def _values(values: Sequence[Any]) -> tuple[Any, ...]:
    """Different values in order, objects and lists as text."""
    given = (value for value in values if value is not None)
    plain = (value if isinstance(value, bool | int | float | str) else dumps(value) for value in given)
    return tuple({(type(value), value): value for value in plain}.values())
