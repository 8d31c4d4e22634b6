"""The work as YAML: procedure, cases, templates and questions, as far as the runs tell."""

import re
from collections import Counter
from collections.abc import Sequence

from pipeline.environments.recordings import Recording
from pipeline.records import JsonObject
from pipeline.synthesis.drafting.course import Course, paths
from pipeline.synthesis.drafting.rows import SeenTable
from pipeline.synthesis.drafting.sketch import Sketch
from pipeline.synthesis.drafting.writing import comment, flow

MAX_PHRASES = 10
LONGEST_PHRASE = 300
LONGEST_TEXT = 2000


def work_text(sketch: Sketch, course: Course, recordings: Sequence[Recording]) -> str:
    """Sections procedure, cases, templates and ask."""
    lists = [(table, column) for table in sketch.tables.values() for column, other in table.lists.items()
             if other == course.subject.name]  # fmt: skip
    return "\n".join([
        _procedure(sketch, course, recordings), _cases(sketch, course), _templates(sketch, course, lists),
        _asking(sketch, course, recordings, lists),
    ])  # fmt: skip


def _procedure(sketch: Sketch, course: Course, recordings: Sequence[Recording]) -> str:
    systems = Counter(one.system.strip() for one in recordings if one.system.strip())
    said = systems.most_common(1)[0][0] if systems else ""
    notes = ["OPEN: no run has a system message; say the rules of the work"] if not said else []
    if len(systems) > 1:
        notes.append(f"OPEN: the most frequent of {len(systems)} system messages")
    if len(said) > LONGEST_TEXT:
        notes.append(f"OPEN: cut at {LONGEST_TEXT} of {len(said)} characters")
    text = flow(said[:LONGEST_TEXT].strip() or "OPEN")
    steps = "".join(_step(sketch, course, place) for place in range(len(course.steps)))
    left = [f"not a step: {each}" for each in course.left_out]
    return (
        "procedure:\n" + comment(notes, 2) + f"  text: {text}\n  subject: {course.subject.row}\n"
        + comment(["OPEN: calls made in most good runs before the decision, in their usual order", *left], 2)
        + f"  steps:\n{steps}"
    )  # fmt: skip


def _step(sketch: Sketch, course: Course, place: int) -> str:
    step = course.steps[place]
    text = f"    - call: {step.tool} # in {step.share:.0%} of the runs\n      arguments: {flow(step.expression)}\n"
    if place < len(course.steps) - 1:
        return text
    return (
        text + comment(["OPEN: say when each of these is right"], 6) + "      rules:\n"
        + "".join(_rule(sketch, course, tool) for tool in course.decides)
    )  # fmt: skip


def _rule(sketch: Sketch, course: Course, tool: str) -> str:
    row = course.subject.row
    known = paths(course.subject, sketch.tables)
    arguments = {
        name: known[parameter.table] if parameter.table else f"{row}.{sketch.given[tool, name]}"
        for name, parameter in sketch.tools[tool].parameters.items()
    }
    rule = {"name": tool, "when": f"{row}.{sketch.verdict} == '{tool}'", "call": tool, "arguments": arguments}
    return f"        - {flow(rule)}\n"


def _cases(sketch: Sketch, course: Course) -> str:
    dotted = f"{course.subject.row}.{sketch.verdict}"
    lines = [
        f"  {tool}: {flow({'rule': tool, 'traffic': count, 'draw': {dotted: {'one_of': [tool]}}})}\n"
        for tool, count in course.decides.items()
    ]
    return "cases: # as often as in the runs\n" + "".join(lines)


def _templates(sketch: Sketch, course: Course, lists: Sequence[tuple[SeenTable, str]]) -> str:
    row, table = course.subject.row, course.subject.name
    one = {"root": table, "subjects": f"[{row}.id]", "each_case": True, "ask": f"by_{row}"}
    text = f"templates:\n  each: {flow(one)}\n"
    for owner, column in lists:
        many: JsonObject = {"root": owner.name, "subjects": f"{owner.row}.{column}", "ask": f"by_{owner.row}"}
        listing = next((tool for tool in sketch.tools.values() if tool.key and tool.key.table == owner.name
                        and len(tool.parameters) == 1 and column in sketch.returns[tool.name]), None)  # fmt: skip
        if listing is not None and listing.key is not None:
            many["opening"] = [{"call": listing.name, "arguments": {listing.key.name: f"{owner.row}.id"}}]
        text += f"  by_{owner.row}: {flow(many)}\n"
    return text


def _asking(
    sketch: Sketch, course: Course, recordings: Sequence[Recording], lists: Sequence[tuple[SeenTable, str]]
) -> str:
    text = "ask:\n"
    for table in dict.fromkeys([course.subject.name, *(owner.name for owner, _ in lists)]):
        its = sketch.tables[table]
        phrases = _phrases(its, sketch.tables, recordings)
        notes = [] if phrases else ["OPEN: no question names only this id"]
        phrases = phrases or [f"Please see to {{{its.row}.id}}."]
        text += f"  by_{its.row}:\n" + comment(notes, 4) + "    phrases:\n"
        text += "".join(f"      - {flow(phrase)}\n" for phrase in phrases)
    return text


def _phrases(table: SeenTable, tables: dict[str, SeenTable], recordings: Sequence[Recording]) -> list[str]:
    """Questions that name one row of the table and nothing else that is a row, the most frequent first."""
    counts: Counter[str] = Counter()
    for one in recordings:
        question = " ".join(one.question.split())
        ids = set(table.find(question))
        others = any(other.find(question) for other in tables.values() if other is not table)
        if len(ids) == 1 and not others and len(question) <= LONGEST_PHRASE:
            safe = question.replace("{", "{{").replace("}", "}}")
            counts[re.sub(rf"(?<!\w){re.escape(ids.pop())}(?!\w)", f"{{{table.row}.id}}", safe)] += 1
    return [phrase for phrase, _ in counts.most_common(MAX_PHRASES)]
