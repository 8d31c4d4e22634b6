"""Small conversations with tools, and token rows of them."""

import json
import random
from collections.abc import Sequence

from pipeline.records import JsonObject, Message, ToolCall


def tool(name: str) -> JsonObject:
    """A tool schema with one string parameter."""
    claim = {"type": "string", "description": "Claim number."}
    parameters = {"type": "object", "properties": {"claim_id": claim}, "required": ["claim_id"]}
    return {"type": "function", "function": {"name": name, "description": f"Do {name}.", "parameters": parameters}}


TOOLS = tuple(tool(name) for name in ("get_claim", "approve", "deny"))


def call(name: str, identity: str = "call_1", **arguments: str) -> ToolCall:
    """A readable tool call."""
    return ToolCall(identity, name, dict(arguments), json.dumps(arguments))


def conversation(number: int) -> tuple[Message, ...]:
    """A claim is read and decided by the kind of loss: fire is approved, theft denied."""
    kind = random.Random(number).choice(("fire", "theft"))
    claim_id = f"C-{1000 + number}"
    return (
        Message("user", f"Please settle claim {claim_id}."),
        Message("assistant", None, (call("get_claim", claim_id=claim_id),)),
        Message("tool", f"{kind} loss, claimed {number * 37 % 900}", tool_call_id="call_1", name="get_claim"),
        Message("assistant", None, (call("approve" if kind == "fire" else "deny", "call_2", claim_id=claim_id),)),
        Message("tool", "done", tool_call_id="call_2"),
        Message("assistant", "Decided."),
    )


def conversations(count: int, first: int = 0) -> Sequence[tuple[Message, ...]]:
    """Conversations about different claims."""
    return [conversation(first + number) for number in range(count)]
