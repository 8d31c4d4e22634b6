"""What the `traces` commands print. All text is another's: nothing in it reaches the terminal as a control code."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.records import Message, Trace
from pipeline.terminal import print_framed
from pipeline.trace_commands.checking import FileReport

# All control characters but newline and tab, and those that turn the direction of writing or hide text.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_LOOKS = {"system": "dim", "user": "bold", "assistant": "cyan", "tool": ""}


def printable(text: str, longest: int = 0) -> str:
    """The text with control characters spelled out, such as \\x1b; cut after `longest` characters unless that is 0."""
    more = len(text) - longest if longest and len(text) > longest else 0
    text = text[:longest] if more else text
    shown = _UNSAFE.sub(lambda found: found.group().encode("unicode_escape").decode(), text.replace("\r\n", "\n"))
    return f"{shown}\n[{more} characters more; --longest 0 shows all]" if more else shown


def _one_line(text: str) -> str:
    """The text, printable, with its ends of line spelled out: a name must not look like a line of the report."""
    return printable(text.replace("\n", r"\n"))


def show_reports(console: Console, reports: Sequence[FileReport]) -> None:
    """A line for each file, its first faults below it, and the sum."""
    for report in reports:
        console.print(_headline(report), soft_wrap=True)
        for row in report.faults:
            place = f"line {row.line}" + (f", {row.field}" if row.field else "")
            said = Text.assemble("  ", (_one_line(place), "bold"), ": ", (row.reason, "red"), ": ")
            console.print(said.append(_one_line(row.message)), soft_wrap=True)
        if more := report.quarantined - len(report.faults):
            reasons = ", ".join(f"{reason} {count}" for reason, count in report.reasons.most_common())
            console.print(Text(f"  and {more} more; by reason: {reasons}", style="dim"), soft_wrap=True)
    traces, refused = sum(one.traces for one in reports), sum(one.quarantined for one in reports)
    style = "bold green" if traces and not refused else "bold yellow" if traces else "bold red"
    summary = f"{traces} traces of {len(reports)} files, {refused} records would be quarantined"
    console.print(Text(summary, style=style), soft_wrap=True)


def show_trace(console: Console, trace: Trace, longest: int) -> None:
    """Where the trace is from, how it ended, its scores and grades, and the conversation."""
    facts = Table.grid(padding=(0, 2))
    for name, value in _facts(trace):
        facts.add_row(Text(name, style="dim"), Text(printable(value, longest)))
    console.print(facts)
    for message in trace.messages:
        _show_message(console, message, longest)


def _headline(report: FileReport) -> Text:
    style = "green" if report.traces and not report.quarantined else "yellow" if report.traces else "red"
    form = (report.format, "cyan") if report.format else ("unknown format", "red")
    counts = f"{report.traces} traces, {report.quarantined} quarantined"
    return Text.assemble((_one_line(report.path), "bold"), "  ", form, "  ", (counts, style))


def _facts(trace: Trace) -> Iterator[tuple[str, str]]:
    yield "trace", trace.trace_id
    yield "from", f"{trace.source}:{trace.line} ({trace.format})"
    if trace.group_id is not None:
        yield (
            "task",
            trace.group_id.removeprefix(f"{trace.source}#") + (f", try {trace.try_id}" if trace.try_id else ""),
        )
    if trace.started_at is not None:
        yield "began", datetime.fromtimestamp(int(trace.started_at), UTC).isoformat()
    yield "ended", trace.status.value + (f": {trace.error}" if trace.error else "")
    yield "reward", "not known" if trace.reward is None else f"{trace.reward:g}"
    if trace.scores:
        yield "scores", ", ".join(f"{name} {value:g}" for name, value in sorted(trace.scores.items()))
    for grade in trace.grades:
        if grade.turn is None:
            yield "grade", f"{grade.name} {'null' if grade.score is None else f'{grade.score:g}'}: {grade.reason}"
    if trace.tools:
        yield "tools", ", ".join(str(tool["function"]["name"]) for tool in trace.tools)


def _show_message(console: Console, message: Message, longest: int) -> None:
    style = _LOOKS[message.role]
    title = printable(f"{message.role} {message.name}" if message.name else message.role)
    title += "" if message.trainable else " (not trained on)"
    body = Text()
    if message.reasoning:
        body.append(f"{printable(message.reasoning, longest)}\n", style="dim italic")
    body.append(printable(message.content, longest) if message.content is not None else "", style=style)
    for call in message.tool_calls:
        body.append(f"\n> {printable(call.name)} {printable(call.raw_arguments, longest)}", style="green")
        if call.parse_error:
            body.append(f"\n  {printable(call.parse_error)}", style="red")
    if body.plain.startswith("\n"):
        body = body[1:]
    print_framed(console, title, body, border="dim")
