"""Small files of the formats that record whole episodes, for the fuzzing of their readers."""

import io
import zipfile
from typing import Any

import orjson

from tests.traces.helpers import ANSWER, USER, call, lines, result

INDENT = orjson.OPT_INDENT_2
CALLING: dict[str, Any] = {"role": "assistant", "content": "Let me.", "tool_calls": [call()]}
SHELL: dict[str, Any] = {"role": "assistant", "content": "Look.\n```bash\nls\n```"}
STEPS: list[dict[str, Any]] = [
    {"step_id": 1, "source": "user", "message": "How tall?"},
    {"step_id": 2, "source": "agent", "message": [{"type": "text", "text": "x"}], "reasoning_content": "hm",
     "tool_calls": [{"tool_call_id": "a", "function_name": "look", "arguments": {"at": 1}}],
     "observation": {"results": [{"source_call_id": "a", "content": "5"}, {"content": "6"}]}},
    {"step_id": 3, "source": "system", "message": "s", "is_copied_context": True},
]  # fmt: skip
ATIF = {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "a", "version": "1"}, "steps": STEPS}
FLAT = {"id": "a", "name": "look", "arguments": {"at": 1}, "requestor": "assistant"}
SIMULATION: dict[str, Any] = {
    "id": "s", "task_id": "7", "trial": 0, "termination_reason": "user_stop",
    "reward_info": {"reward": 1.0, "reward_breakdown": {"DB": 1.0}, "action_checks": [{"action_match": True}]},
    "messages": [
        {"role": "assistant", "content": "Hi!"}, {"role": "user", "content": "x", "tool_calls": [FLAT]},
        {"role": "assistant", "content": None, "tool_calls": [FLAT]},
        {"role": "tool", "id": "a", "content": "5", "error": True, "requestor": "assistant"},
    ],
}  # fmt: skip
TAU2 = {
    "info": {"environment_info": {"domain_name": "d", "policy": "p", "tool_defs": {"look": {"doc": "d"}}}},
    "tasks": [{"id": "7"}], "simulations": [SIMULATION, SIMULATION | {"id": "t", "trial": 1}],
}  # fmt: skip
HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "s", "agent": "main"}, USER | {"is_demo": True},
    CALLING, {"role": "tool", "content": "5", "tool_call_ids": ["c1"]},
    {"role": "assistant", "content": "t\n```\nls\n```", "thought": "t", "action": "ls"}, USER,
    {"role": "assistant", "content": "<function=look><parameter=at>1</parameter></function>"}, USER,
]  # fmt: skip
SWE = {"history": HISTORY, "trajectory": [], "info": {"exit_status": "submitted"}, "replay_config": "{}"}
ATTEMPTS = {"attempts": [SWE, {"trajectory": [{"action": "ls", "observation": "a", "response": "```\nls\n```"}]}]}
MINI = {"info": {"exit_status": "Submitted", "submission": ""}, "messages": [USER, SHELL, USER, CALLING, result("5")]}
SAID = {"function_name": "look", "tool_call_id": "c1", "model_response": {"id": "r", "choices": [{"message": CALLING}]}}
EVENTS: list[dict[str, Any]] = [
    {"id": 0, "source": "agent", "action": "system", "args": {"content": "s", "tools": []}},
    {"id": 1, "source": "user", "action": "message", "args": {"content": "x"}},
    {"id": 2, "source": "agent", "action": "run", "args": {"thought": "t"}, "tool_call_metadata": SAID},
    {"id": 3, "source": "agent", "observation": "run", "cause": 2, "content": "5", "extras": {}},
    {"id": 4, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "t"}},
    {"id": 5, "source": "agent", "observation": "error", "cause": 4, "content": "no"},
    {"id": 6, "source": "agent", "action": "finish", "args": {"thought": "t"}},
]
ROLLOUT = {"instance_id": "i", "history": EVENTS, "error": None, "test_result": {"report": {"resolved": True}}}
SAMPLE: dict[str, Any] = {
    "id": 1, "epoch": 1, "uuid": "u", "scores": {"m": {"value": {"a": "C", "b": 1}}}, "attachments": {"ab": "long"},
    "messages": [
        USER | {"content": "attachment://ab"}, ANSWER | {"content": [{"type": "image", "image": "x"}], "tool_calls": [
            {"id": "c", "function": "look", "arguments": {}, "parse_error": "bad"}]},
        {"role": "tool", "tool_call_id": "c", "function": "look", "content": "5", "error": {"type": "timeout"}},
    ],
    "events": [{"event": "model", "tools": [{"name": "look", "parameters": {}}], "input": [], "input_refs": [[0, 1]]}],
}  # fmt: skip
LOG = {"version": 2, "status": "success", "eval": {"task": "t", "run_id": "r"}, "samples": [SAMPLE, SAMPLE | {"id": 2}]}


def archive(*samples: Any) -> bytes:
    """An `.eval` archive of samples; those that are text are JSON as it is."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", orjson.dumps({key: LOG[key] for key in ("version", "status", "eval")}))
        for number, sample in enumerate(samples):
            data = sample.encode("utf-8", "surrogatepass") if isinstance(sample, str) else orjson.dumps(sample)
            file.writestr(f"samples/{number}_epoch_1.json", data)
    return buffer.getvalue()


EPISODE_SEEDS: dict[str, bytes] = {
    "atif": lines(ATIF, ATIF | {"subagent_trajectories": [ATIF]}, ATIF | {"continued_trajectory_ref": "x"}),
    "tau2_bench": orjson.dumps([TAU2, TAU2 | {"tasks": []}], option=INDENT),
    "swe_agent": lines(SWE, ATTEMPTS),
    "mini_swe_agent": lines(MINI, MINI | {"instance_id": "i"}),
    "openhands": orjson.dumps([ROLLOUT, ROLLOUT | {"history": [EVENTS[1:3], EVENTS[3:5]]}], option=INDENT),
    "inspect_ai": orjson.dumps([LOG, LOG | {"status": "started"}], option=INDENT),
}
MORE_SEEDS: dict[str, bytes] = {
    "mini_swe_agent": orjson.dumps([USER, SHELL, USER, ANSWER], option=INDENT),
    "openhands": orjson.dumps(EVENTS, option=INDENT),
    "inspect_ai": archive(SAMPLE, SAMPLE | {"id": 2}),
}
"""Another layout of the same formats."""
