"""Small files of the formats that hold chats, for the fuzzing of their readers."""

from typing import Any

import orjson

from pipeline.records import JsonObject
from tests.traces.helpers import ANSWER, USER, call, lines, result

CALLING: JsonObject = {"role": "assistant", "content": None, "tool_calls": [call(), call("b", {"x": [1, None]}, "c2")]}
TALK = [USER, CALLING, result("ok"), result("no", "c2"), ANSWER]
CHAT: JsonObject = {"messages": TALK, "task_id": 1, "trial": 0, "reward": 0.5}
USE = {"type": "tool_use", "id": "a", "name": "look", "input": {"n": 1}}
BLOCKS: list[JsonObject] = [
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "x"}, USE]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r", "is_error": True}]},
]


def _event(session: str, number: int, message: JsonObject, **beside: Any) -> JsonObject:
    parent = f"{session}{number - 1}" if number else None
    return {"type": message["role"], "uuid": f"{session}{number}", "parentUuid": parent, "sessionId": session,
            "timestamp": f"2025-01-01T00:00:0{number}.000Z", "message": message, **beside}  # fmt: skip


CHAT_SEEDS: dict[str, bytes] = {
    "openai_chat": lines(CHAT, CHAT | {"trial": 1, "tools": [{"type": "function", "function": {"name": "look"}}]},
                         CHAT | {"trial": 2}),
    "anthropic_messages": lines(*[{"system": "s", "messages": [USER, *BLOCKS, ANSWER], "reward": 1}] * 3),
    "claude_code": lines(
        *(_event("s", n, m) for n, m in enumerate([USER, *BLOCKS, ANSWER | {"id": "m", "stop_reason": "end_turn"}])),
        {"type": "summary", "summary": "x", "leafUuid": "s3"},
        *(_event("t", n, m, isSidechain=True, agentId="b") for n, m in enumerate([USER, ANSWER])),
        _event("u", 0, USER, isCompactSummary=True), _event("u", 1, ANSWER, isApiErrorMessage=True),
    ),
    "tau_bench": orjson.dumps(
        [{"task_id": 1, "trial": n, "reward": n, "info": {}, "traj": TALK} for n in range(3)],
        option=orjson.OPT_INDENT_2,
    ),
}  # fmt: skip
