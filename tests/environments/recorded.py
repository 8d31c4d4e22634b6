"""A table of recorded runs: two tries of one task, one of another, and what else there may be."""

from pathlib import Path
from typing import Any

from pipeline.records import TRACES, JsonObject, Message, ToolCall, Trace, TraceStatus
from pipeline.rows import trace_to_row
from pipeline.tables import dumps, write_parquet

TOOLS: tuple[JsonObject, ...] = tuple(
    {"type": "function", "function": {"name": name, "description": about, "parameters": {
        "type": "object", "properties": properties, "required": list(properties)}}}
    for name, about, properties in (
        ("get_loan", "Read a loan.", {"loan_id": {"type": "string", "description": "Loan number."}}),
        ("extend", "Extend a loan.", {"loan_id": {"type": "string"}, "days": {"type": "integer"}}),
        ("refuse", "Refuse to extend.", {"loan_id": {"type": "string"}, "why": {"enum": ["reserved", "overdue"]}}),
    )
)  # fmt: skip
Step = tuple[str, JsonObject, str | None]
"""Tool, arguments, answer."""


def trace(number: int, group: str | None, steps: list[Step], reward: float | None, **changes: Any) -> Trace:
    """A run: the desk's rules, a question, each step in a turn of its own, and a last word."""
    messages = [Message("system", "You lend books."), Message("user", changes.pop("question", f"Loan of {group}?"))]
    for place, (tool, arguments, answer) in enumerate(steps):
        messages.append(Message("assistant", None, (ToolCall(f"c{place}", tool, arguments, dumps(arguments)),)))
        if answer is not None:
            messages.append(Message("tool", answer, tool_call_id=f"c{place}", name=tool))
    messages.append(Message("assistant", "Done."))
    given: JsonObject = {"tools": TOOLS, "harness_hash": "h1", "messages": tuple(messages), **changes}
    return Trace(
        trace_id=f"{number:032x}", source="desk.jsonl", line=number, format="openai_chat", group_id=group,
        try_id=str(number), scores={}, reward=reward, status=TraceStatus.OK, error=None, metadata={}, **given,
    )  # fmt: skip


READ: Step = ("get_loan", {"loan_id": "L-1001"}, "3 weeks, not reserved")
RUNS = [
    trace(1, "a", [READ, ("extend", {"loan_id": "L-1001", "days": 9}, "too long")], 0.0),
    trace(2, "a", [READ, ("extend", {"days": 3, "loan_id": "L-1001"}, "extended"),
                   ("get_loan", {"loan_id": "L-1001"}, "extended by 3")], 1.0),
    trace(3, "b", [("get_loan", {"loan_id": "L-1002"}, "1 weeks, reserved"),
                   ("refuse", {"loan_id": "L-1002", "why": "reserved"}, "refused")], 1.0),
]  # fmt: skip


def write_runs(path: Path, runs: list[Trace]) -> None:
    """Write a table as `ingest` does."""
    write_parquet(path, map(trace_to_row, runs), TRACES)
