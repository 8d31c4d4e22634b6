"""A sketch as YAML for a person: tables and tools here, the work itself in `emit_work`.

Comments that begin with OPEN mark what traces cannot tell; `seen` comments show what was recorded.
"""

from collections.abc import Iterator

from pipeline.records import JsonObject
from pipeline.synthesis.drafting.course import literal, reads
from pipeline.synthesis.drafting.rows import SeenTable
from pipeline.synthesis.drafting.seen import SeenParameter, SeenTool
from pipeline.synthesis.drafting.sketch import Sketch, alias
from pipeline.synthesis.drafting.writing import comment, flow

SPACE = " + ' ' + "
_EXAMPLES = 3
_LONGEST_EXAMPLE = 160


def tables_text(sketch: Sketch) -> str:
    """The section `tables`."""
    return "tables:\n" + "".join(_table(sketch, table) for table in sketch.tables.values())


def tools_text(sketch: Sketch) -> str:
    """The section `tools`."""
    return "tools:\n" + "".join(_tool(sketch, tool) for tool in sketch.tools.values())


def _table(sketch: Sketch, table: SeenTable) -> str:
    few = ", ".join(list(table.ids)[:_EXAMPLES])
    notes = [f"seen: {few} ({len(table.ids)} different)"]
    if not table.exact:
        notes.append(f"OPEN: ids will look like {table.prefix}-{'1234567890'[: table.digits]}, unlike those")
    columns = sketch.columns[table.name]
    head = f"  {table.name}:\n" + comment(notes, 4) + f"    row: {table.row}\n    prefix: {table.prefix}\n"
    head += f"    digits: {table.digits}\n" if table.digits != 4 else ""
    if not columns:
        return head + comment(["OPEN: nothing is known of its columns"], 4) + "    columns: {}\n"
    lines = (comment(its.notes, 6) + f"      {name}: {flow(its.text)}\n" for name, its in columns.items())
    return head + "    columns:\n" + "".join(lines)


def _tool(sketch: Sketch, tool: SeenTool) -> str:
    head = comment([f"{len(tool.calls)} calls seen", *tool.notes], 4) + f"    about: {flow(tool.about)}\n"
    body = f"    returns: {flow(sketch.returns[tool.name])}\n    returns_about: The answer.\n" + _examples(tool)
    return f"  {tool.name}:\n" + head + "".join(_parameters(tool)) + "".join(_effects(sketch, tool)) + body


def _parameters(tool: SeenTool) -> Iterator[str]:
    if tool.parameters:
        yield "    parameters:\n"
    for parameter in tool.parameters.values():
        yield comment(parameter.notes, 6)
        yield f"      {parameter.name}: {flow(_declared(parameter))}\n"


def _declared(parameter: SeenParameter) -> JsonObject:
    if parameter.table is not None:
        return {"key": parameter.table, "about": parameter.about}
    if parameter.enum is not None:
        return {"enum": list(parameter.enum), "about": parameter.about}
    kind: JsonObject = {} if parameter.type == "string" else {"type": parameter.type}
    return kind | {"about": parameter.about}


def _effects(sketch: Sketch, tool: SeenTool) -> Iterator[str]:
    course = sketch.course
    if course is None or tool.name not in course.decides:
        if not reads(tool.name):
            yield comment(["OPEN: what does it change? say so by change or insert"], 4)
        return
    assert tool.key is not None
    done = f"{alias(tool.key)}.{sketch.done}"
    others = (_text(its) for its in tool.parameters.values() if its is not tool.key)
    refusal = {"that": f"{done} == ''", "otherwise": literal("done before")}
    yield comment(["OPEN: when is it refused, and what does it change?"], 4)
    yield f"    requires: {flow([refusal])}\n"
    yield f"    change: {flow({done: SPACE.join([literal(tool.name), *others])})}\n"
    yield f"    decides: {tool.key.name}\n"


def _text(parameter: SeenParameter) -> str:
    return parameter.name if parameter.type == "string" else f"string({parameter.name})"


def _examples(tool: SeenTool) -> str:
    answers = dict.fromkeys(call.answer for call in tool.calls if call.answer)
    shown = [f"seen: {' '.join(answer.split())[:_LONGEST_EXAMPLE]}" for answer in list(answers)[:_EXAMPLES]]
    return comment(shown, 4)
