"""Traces and tasks for tests of curation."""

import json
from typing import Any

from pipeline.curation.candidates import Candidate, from_trace
from pipeline.harness_hash import harness_hash
from pipeline.records import JsonObject, Message, Task, ToolCall, Trace, TraceStatus

TOOLS: tuple[JsonObject, ...] = (
    {"type": "function", "function": {"name": "get_claim", "description": "Read.", "parameters": {"type": "object"}}},
)
OWN = frozenset({harness_hash(TOOLS)})


def call(identity: str = "call_1", claim_id: str = "C-1000") -> ToolCall:
    """A readable call of get_claim."""
    arguments = {"claim_id": claim_id}
    return ToolCall(identity, "get_claim", arguments, json.dumps(arguments))


def messages(claim_id: str = "C-1000", question: str = "Settle {}.") -> tuple[Message, ...]:
    """One call, its answer and a last word."""
    return (
        Message("user", question.format(claim_id)),
        Message("assistant", None, (call(claim_id=claim_id),)),
        Message("tool", f"{claim_id}: fire", tool_call_id="call_1"),
        Message("assistant", "Decided."),
    )


def trace(number: int = 0, **changes: Any) -> Trace:
    """A successful run about claim C-<1000 + number> with the environment's own tools."""
    values: dict[str, Any] = {
        "trace_id": f"t{number}", "source": "a.jsonl", "line": number + 1, "format": "openai_chat", "group_id": None,
        "try_id": None, "messages": messages(f"C-{1000 + number}"), "tools": TOOLS, "harness_hash": next(iter(OWN)),
        "scores": {}, "reward": 1.0, "status": TraceStatus.OK, "error": None, "metadata": {},
    }  # fmt: skip
    return Trace(**(values | changes))


def candidate(number: int = 0, **changes: Any) -> Candidate:
    """`trace` as a candidate."""
    return from_trace(trace(number, **changes))


def task(claim_id: str, question: str = "What about it?", task_id: str | None = None) -> Task:
    """A held-out task whose state holds one claim, and a tariff that every state holds."""
    state = {"claims": {claim_id: {"amount": 5}}, "tariffs": {"tariff-2024": {"rate": 1}}}
    return Task(task_id or f"task {claim_id}", "claims", "approve", "eval", 1, question, state, state, (), {})
