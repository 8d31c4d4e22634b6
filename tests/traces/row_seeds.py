"""Small files of the formats whose records are rows, for the fuzzing of their readers."""

from typing import Any

import orjson

from tests.traces.helpers import ANSWER, USER, call, lines, result

CALL = '{"name": "look", "arguments": {"at": 1}}'
TEXT_CALL = "<think>hm</think>Let me. <tool_call>{'name': 'look', 'arguments': {'at': None}}</tool_call>"
CALLING: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call()]}
TALK: list[dict[str, Any]] = [USER, CALLING, result("5"), ANSWER]
ITEMS: list[dict[str, Any]] = [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
    {"type": "function_call", "call_id": "a", "id": "b", "name": "look", "arguments": '{"at": 1}'},
    {"type": "function_call_output", "call_id": "a", "output": "5"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Five."}]},
]
TOOL = {"type": "function", "name": "look", "parameters": {"type": "dict", "properties": {"at": {"type": "float"}}}}


def _shared(*turns: tuple[str, str], **beside: Any) -> dict[str, Any]:
    return {"conversations": [{"from": speaker, "value": value} for speaker, value in turns], **beside}


def _verified(n: int) -> dict[str, Any]:
    calling = CALLING | {"tool_calls": [orjson.dumps(call()).decode()]}
    return {"example_id": n // 2, "prompt": [USER], "completion": [calling],
            "reward": n / 2, "metric": 0.5, "task": "t", "info": {"oai_tools": [TOOL]}}  # fmt: skip


def _rollout(n: int) -> dict[str, Any]:
    request = {"input": [USER], "tools": [TOOL]}
    return {"responses_create_params": request, "response": {"output": ITEMS}, "reward": -1.5, "_ng_task_index": 1,
            "_ng_rollout_index": n, "reward_components": {"a": 1.0}, "truncated": False}  # fmt: skip


ROW_SEEDS: dict[str, bytes] = {
    "openai_responses": lines(*[{"input": [USER], "output": ITEMS, "tools": [TOOL], "status": "completed"}] * 3),
    "nemo_gym": lines(*map(_rollout, range(3))),
    "verifiers": lines(*map(_verified, range(3))),
    "sharegpt": lines(
        *[_shared(("human", "Go."), ("function_call", f"[{CALL}, {CALL}]"), ("observation", "[1, 2]"))] * 3
    ),
    "hermes": lines(
        *[_shared(("system", f"<tools>{CALL}</tools>"), ("gpt", TEXT_CALL), ("tool", "<tool_response>5"))] * 3
    ),
    "agentgym": orjson.dumps(
        [{"item_id": f"maze_{n}", "conversations": [{"from": "human", "loss": None, "value": "Go."},
                                                    {"from": "gpt", "loss": True, "value": "Action: look[1]"}]}
         for n in range(3)],
        option=orjson.OPT_INDENT_2,
    ),
    "agentbench": lines(
        *({"index": n, "error": None, "info": None, "output": {"status": "completed", "result": {"result": True},
           "history": [USER, ANSWER | {"role": "agent"}]}} for n in range(3))
    ),
    "toolbench": orjson.dumps(
        [{"win": win, "answer_generation": {"valid_data": True, "finish_type": "give_answer", "function": [TOOL],
                                            "train_messages": [TALK[:2], TALK]}} for win in (True, False)],
        option=orjson.OPT_INDENT_2,
    ),
    "bfcl": lines(
        {"id": "simple_0", "result": [{"look": '{"at": 1}'}], "latency": 1.0},
        {"id": "simple_1", "result": "[look(at=1), look(2)]", "latency": 1.0, "question": [[USER]], "function": [TOOL]},
        {"id": "multi_turn_0", "result": [["[look()]", "Five."]], "latency": [[1.0]], "inference_log": [
            {"begin_of_turn_query": [USER], "step_0": [{"role": "assistant", "content": "[look()]"},
                                                       {"role": "tool", "content": "5"}]}]},
    ),
}  # fmt: skip
