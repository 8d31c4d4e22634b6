"""What the `env` commands print: a report in tables, an episode as the agent sees it, tools, grades."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.env_commands.finding import Entry
from pipeline.env_commands.mutations import show_call
from pipeline.env_commands.report import Answers, Report, TemplateReport
from pipeline.environments.worlds import World
from pipeline.records import Grade, JsonObject, Message
from pipeline.terminal import print_framed

_LOOKS = {
    "system": ("procedure", "dim"),
    "user": ("question", "bold"),
    "assistant": ("agent", "cyan"),
    "tool": ("", ""),
}


def show_list(console: Console, entries: Sequence[Entry]) -> None:
    """One line an environment."""
    table = _table("environment", "kind", "file", "about")
    for entry in entries:
        about = Text(entry.about, style="" if entry.sound else "red")
        table.add_row(Text(entry.name, style="bold"), entry.kind, Text(_short_path(entry.path)), about)
    console.print(table)


def show_report(console: Console, report: Report) -> None:
    """All of a report, faults last, so that they stand above the prompt."""
    console.print(Text(f"{report.name}: {report.about}", style="bold"))
    console.print(_templates(report.templates))
    if report.answers is not None and len(report.templates) > 1:
        console.print(Text(f"Over all templates, {_answers(report.answers)}."))
    if report.habits:
        console.print(_habits(report))
    proofs = sum(sum(template.proofs.values()) for template in report.templates)
    console.print(Text(f"{proofs} golden runs spoiled in one place each, to see that the grades tell."))
    for what, names in report.unused.items():
        if names:
            console.print(Text(f"never used: {what} {', '.join(names)}", style="yellow"))
    for remark in report.remarks:
        console.print(Text(f"look at: {remark}", style="yellow"))
    for fault in report.faults:
        console.print(Text(f"fault: {fault}", style="bold red"))
    tasks = sum(template.tasks for template in report.templates)
    if report.faults:
        return
    doubts = len(report.remarks)
    verdict = f"solvable, but look at the {doubts} lines above" if doubts else "sound"
    solved = f"{tasks} tasks of {len(report.templates)} templates, each solved by its golden run"
    style = "bold yellow" if doubts else "bold green"
    console.print(Text(f"{report.name}: {verdict}; {solved} with outcome 1 and process 1", style=style))


def show_episode(console: Console, messages: Iterable[Message]) -> None:
    """A conversation as the agent has it: procedure, question, calls and their answers."""
    for message in messages:
        for call in message.tool_calls:
            line = show_call({"name": call.name, "arguments": call.arguments or {}})
            console.print(Text(f"  > {line}", style="cyan"))
        if message.role == "tool":
            console.print(Text(f"    {message.content}"))
        elif message.content:
            name, style = _LOOKS[message.role]
            print_framed(console, name, Text(message.content, style=style))


def show_tools(console: Console, world: World) -> None:
    """Tools with their parameters, and what each is for."""
    table = _table("tool", "parameters", "about")
    for tool in world.tools:
        function = tool["function"]
        table.add_row(Text(function["name"], style="bold"), Text(_parameters(function)), Text(function["description"]))
    console.print(table)


def show_grades(console: Console, grades: Iterable[Grade]) -> None:
    """Grades with their reasons."""
    table = _table("grade", "score", "reason")
    for grade in grades:
        score = "none" if grade.score is None else f"{grade.score:.2f}"
        style = "green" if grade.score == 1.0 else "red" if grade.score == 0.0 else "yellow"
        table.add_row(grade.name, Text(score, style=style), Text(grade.reason))
    console.print(table)


def _templates(templates: Sequence[TemplateReport]) -> Table:
    rejected = any(each.rejected for each in templates)
    table = _table(
        "template", "tasks", "calls", *(["rejected"] if rejected else []), "answers", "always saying", "earns"
    )
    for each in templates:
        least, mean, most = each.calls or (0, 0.0, 0)
        calls = str(most) if least == most else f"{least} to {most} ({mean:.1f})"
        reasons = ", ".join(f"{count} {reason}" for reason, count in each.rejected.items())
        answers = each.answers or Answers(0, "", 0.0, 0.0)
        table.add_row(
            Text(each.name, style="red" if each.faults else "bold"), str(each.tasks), calls,
            *([reasons] if rejected else []), str(answers.distinct), Text(answers.always), f"{answers.earns:.2f}",
        )  # fmt: skip
    return table


def _answers(answers: Answers) -> str:
    return (
        f"there are {answers.distinct} answers; of pairs of tasks, {100 * answers.shared:.1f} % share one, and always "
        f"giving {answers.always!r} earns {answers.earns:.2f}"
    )


def _habits(report: Report) -> Table:
    table = _table("habit", "runs", "outcome", "process", "costs the outcome in")
    for name, score in report.habits.items():
        where = [each.name for each in report.templates if name in each.habits and each.habits[name].outcome < 1.0]
        shown = ", ".join(where[:4]) + (f" and {len(where) - 4} more" if len(where) > 4 else "")
        table.add_row(Text(name), str(score.tasks), f"{score.outcome:.2f}", f"{score.process:.2f}", shown or "none")
    return table


def _parameters(function: JsonObject) -> str:
    shown = []
    for name, its in function["parameters"].get("properties", {}).items():
        kind = "|".join(map(str, its["enum"])) if "enum" in its else str(its.get("type", "any"))
        about = its.get("description", "").strip()
        shown.append(f"{name} ({kind}){': ' + about if about else ''}")
    return "\n".join(shown)


def _table(*headers: str) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for number, header in enumerate(headers):
        table.add_column(header, overflow="fold", no_wrap=number == 0)
    return table


def _short_path(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
