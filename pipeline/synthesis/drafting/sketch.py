"""A spec as far as traces give it: columns that hold what tools answered, and expressions that put answers together."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pipeline.environments.recordings import RecordedCall
from pipeline.synthesis.drafting.course import Course, literal, reads
from pipeline.synthesis.drafting.naming import fitting_name
from pipeline.synthesis.drafting.rows import SeenTable
from pipeline.synthesis.drafting.seen import SeenParameter, SeenTool

MAX_ANSWERS = 8
MAX_CHILDREN = 10
LONGEST_ANSWER = 600
_MARK = re.compile("\0([^\0]*)\0")


@dataclass(frozen=True, slots=True)
class SketchColumn:
    """A column as YAML in flow style, and what a person should know of it."""

    text: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sketch:
    """All that is written down. `returns` maps a tool to the expression of its answer."""

    tools: dict[str, SeenTool]
    tables: dict[str, SeenTable]
    course: Course | None
    columns: dict[str, dict[str, SketchColumn]] = field(default_factory=dict)
    returns: dict[str, str] = field(default_factory=dict)
    given: dict[tuple[str, str], str] = field(default_factory=dict)
    """Deciding tool and parameter to the column that holds the right value."""
    verdict: str = ""
    """Column that says which tool is to decide; it stands in for the rules."""
    done: str = ""
    """Column that a deciding tool changes; it stands in for its effects."""

    def add(self, table: str, wanted: str, text: dict[str, Any], *notes: str) -> str:
        """Add a column under a free name near the wanted one; returns that name."""
        columns = self.columns[table]
        name, number = fitting_name(wanted), 1
        while name in columns:
            number += 1
            name = f"{fitting_name(wanted)[:36]}_{number}"
        columns[name] = SketchColumn(text, notes)
        return name


def make_sketch(tools: dict[str, SeenTool], tables: dict[str, SeenTable], course: Course | None) -> Sketch:
    """Lay columns and answers out."""
    verdict = done = ""
    sketch = Sketch(tools, tables, course, {name: {} for name in tables})
    for table in tables.values():
        _references(sketch, table)
    for tool in tools.values():
        sketch.returns[tool.name] = _answer(sketch, tool)
    if course is not None:
        subject = course.subject.name
        choice = {"type": "string", "draw": {"one_of": list(course.decides)}}
        verdict = sketch.add(subject, "verdict", choice, "OPEN: stands in for what decides")
        done = sketch.add(subject, "done", {"type": "string", "start": ""}, "OPEN: stands in for what is changed")
        _given(sketch, course)
    return Sketch(tools, tables, course, sketch.columns, sketch.returns, sketch.given, verdict, done)


def _given(sketch: Sketch, course: Course) -> None:
    """Columns with the right values of the deciding tools' parameters."""
    for tool, parameters in course.given.items():
        for parameter, values in parameters.items():
            kind = sketch.tools[tool].parameters[parameter].type
            drawn = [float(value) for value in values] if kind == "float" else list(values)
            column = {"type": kind, "draw": {"one_of": drawn or [""]}}
            sketch.given[tool, parameter] = sketch.add(course.subject.name, f"{tool}_{parameter}", column)


def _references(sketch: Sketch, table: SeenTable) -> None:
    for column, other in table.refs.items():
        sketch.add(table.name, column, {"type": "ref", "ref": {"table": other}})
    for column, other in table.lists.items():
        count = [1, min(table.most[column], MAX_CHILDREN)]
        note = f"OPEN: how many there are; {table.most[column]} were the most"
        sketch.add(table.name, column, {"type": "refs", "rows": {"table": other, "count": count}}, note)


def _answer(sketch: Sketch, tool: SeenTool) -> str:
    """The answer as an expression; what varies in it becomes columns of the row that the call names."""
    marked = [_marked(sketch, tool, call) for call in tool.calls if call.answer is not None]
    kept = list(dict.fromkeys(_usual(marked)))
    if not kept:
        tool.notes.append("OPEN: no answer was recorded")
        return literal("")
    key = tool.key
    varied = len(kept) > 1 and key is not None and reads(tool.name)
    if len(kept) > 1:
        what = "are drawn from columns for now" if varied else "are all like the first for now"
        tool.notes.append(f"OPEN: its {len(kept)} different answers {what}")
    rows = [_MARK.split(text) for text in kept[: MAX_ANSWERS if varied else 1]]
    parts = []
    for place, pieces in enumerate(zip(*rows, strict=True)):
        if place % 2:
            parts.append(pieces[0])
        elif len(set(pieces)) == 1:
            parts += [literal(pieces[0])] if pieces[0] else []
        elif key is not None and key.table is not None:
            text = {"type": "string", "draw": {"one_of": list(dict.fromkeys(pieces))}}
            column = sketch.add(key.table, tool.name, text)
            parts.append(f"{alias(key)}.{column}")
    return " + ".join(parts) or literal("")


def alias(parameter: SeenParameter) -> str:
    """What the row is called that a parameter names."""
    return parameter.name.removesuffix("_id")


def _usual(marked: list[str]) -> list[str]:
    """Those with the most frequent sequence of ids in them."""
    shapes = Counter(tuple(_MARK.findall(text)) for text in marked)
    return [text for text in marked if tuple(_MARK.findall(text)) == shapes.most_common(1)[0][0]]


def _marked(sketch: Sketch, tool: SeenTool, call: RecordedCall) -> str:
    """An answer, cut, in which the expression of each id stands between zero characters in its place."""
    text = (call.answer or "").replace("\0", "")[:LONGEST_ANSWER]
    out, done = "", 0
    for start, end, expression in sorted(_spans(sketch, tool, call, text)):
        if start >= done:
            out, done = f"{out}{text[done:start]}\0{expression}\0", end
    return out + text[done:]


def _spans(sketch: Sketch, tool: SeenTool, call: RecordedCall, text: str) -> Iterator[tuple[int, int, str]]:
    """Places of ids in an answer: the row's own, those it refers to, lists of them from first to last."""
    key = tool.key
    if key is None or key.table is None:
        return
    own, named = sketch.tables[key.table], str(tool.value(call, key))
    for found in re.finditer(rf"(?<!\w){re.escape(named)}(?!\w)", text):
        yield found.start(), found.end(), key.name
    for column, other in own.refs.items():
        for one in dict.fromkeys(sketch.tables[other].find(text)):
            for found in re.finditer(rf"(?<!\w){re.escape(one)}(?!\w)", text):
                yield found.start(), found.end(), f"{alias(key)}.{column}"
    for column, other in own.lists.items():
        ids = sketch.tables[other].find(text)
        if ids:
            start, end = text.index(ids[0]), text.rindex(ids[-1]) + len(ids[-1])
            joint = text[start + len(ids[0]) : text.index(ids[1], start + len(ids[0]))] if len(ids) > 1 else ", "
            yield start, end, f"{alias(key)}.{column}.join({literal(joint)})"
