"""Records to table rows and back.

Nested records become canonical JSON text; defaults are left out, so a message without tool calls costs
nothing and no key of one tool appears in another's arguments.
"""

from collections.abc import Sequence
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from pipeline.records import (
    Demo,
    Grade,
    JsonObject,
    Message,
    Rollout,
    StopReason,
    Task,
    ToolCall,
    Trace,
    TraceStatus,
    Turn,
)
from pipeline.tables import dumps, loads

Row = dict[str, Any]

_messages: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])
_grades: TypeAdapter[tuple[Grade, ...]] = TypeAdapter(tuple[Grade, ...])


def messages_to_json(messages: Sequence[Message]) -> str:
    """JSON text of messages, defaults left out. Raises TypeError beyond 254 levels or 64-bit integers."""
    return orjson.dumps([_message_to_json(message) for message in messages]).decode()


def _message_to_json(message: Message) -> JsonObject:
    # By hand, because every trace passes through here: 1.7 times as fast as pydantic's dump.
    found: JsonObject = {"role": message.role, "content": message.content}
    if message.tool_calls:
        found["tool_calls"] = [_call_to_json(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        found["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        found["name"] = message.name
    if message.reasoning is not None:
        found["reasoning"] = message.reasoning
    if not message.trainable:
        found["trainable"] = False
    return found


def _call_to_json(call: ToolCall) -> JsonObject:
    found: JsonObject = {
        "id": call.id, "name": call.name, "arguments": call.arguments, "raw_arguments": call.raw_arguments,
    }  # fmt: skip
    if call.parse_error is not None:
        found["parse_error"] = call.parse_error
    return found


def messages_from_json(text: str) -> tuple[Message, ...]:
    """Inverse of `messages_to_json`."""
    try:
        return _messages.validate_json(text)
    except ValidationError:  # its parser stops at 200 levels, while values of 254 are stored
        return _messages.validate_python(loads(text))


def grades_to_json(grades: tuple[Grade, ...]) -> str:
    """JSON text of grades, defaults left out; a null score stays null."""
    if not grades:
        return "[]"
    return _grades.dump_json(grades, exclude_defaults=True).decode()


def grades_from_json(text: str) -> tuple[Grade, ...]:
    """Inverse of `grades_to_json`."""
    return _grades.validate_json(text)


def grade_columns(grades: Sequence[Grade]) -> Row:
    """The columns `grade_*` of `records.ROLLOUTS`: the grades of the whole episode, in their order."""
    whole = [grade for grade in grades if grade.turn is None]
    return {
        "grade_names": dumps([[grade.name, grade.kind, grade.held_out] for grade in whole]),
        "grade_scores": [grade.score for grade in whole], "grade_passed": [grade.passed for grade in whole],
    }  # fmt: skip


def tools_to_json(tools: tuple[JsonObject, ...]) -> str:
    """JSON text of tool schemas in their own key order: the order is part of what the model sees."""
    return orjson.dumps(tools).decode()


def trace_to_row(trace: Trace) -> Row:
    """A row of `records.TRACES`. Raises TypeError beyond 254 levels or 64-bit integers."""
    texts = {"messages": messages_to_json(trace.messages), "tools": tools_to_json(trace.tools)}
    return trace_head_to_row(trace) | texts


def trace_head_to_row(trace: Trace) -> Row:
    """A row of `records.TRACES` without its messages and tools, whose text is kept elsewhere. Raises TypeError."""
    return {
        "trace_id": trace.trace_id, "source": trace.source, "line": trace.line, "format": trace.format,
        "group_id": trace.group_id, "try_id": trace.try_id, "harness_hash": trace.harness_hash,
        "scores": dumps(trace.scores), "reward": trace.reward, "status": trace.status.value, "error": trace.error,
        "metadata": dumps(trace.metadata), "grades": grades_to_json(trace.grades), "started_at": trace.started_at,
    }  # fmt: skip


def trace_from_row(row: Row) -> Trace:
    """Inverse of `trace_to_row`."""
    return Trace(
        **{k: row[k] for k in ("trace_id", "source", "line", "format", "group_id", "try_id", "harness_hash")},
        messages=messages_from_json(row["messages"]), tools=tuple(loads(row["tools"])), scores=loads(row["scores"]),
        reward=row["reward"], status=TraceStatus(row["status"]), error=row["error"], metadata=loads(row["metadata"]),
        grades=grades_from_json(row["grades"]), started_at=row["started_at"],
    )  # fmt: skip


def task_to_row(task: Task) -> Row:
    """A row of `records.TASKS`."""
    return {
        "task_id": task.task_id, "environment": task.environment, "template": task.template, "split": task.split,
        "seed": task.seed, "question": task.question, "initial_state": dumps(task.initial_state),
        "golden_state": dumps(task.golden_state), "golden_calls": tools_to_json(task.golden_calls),
        "knobs": dumps(task.knobs),
    }  # fmt: skip


def task_from_row(row: Row) -> Task:
    """Inverse of `task_to_row`."""
    return Task(
        **{k: row[k] for k in ("task_id", "environment", "template", "split", "seed", "question")},
        initial_state=loads(row["initial_state"]), golden_state=loads(row["golden_state"]),
        golden_calls=tuple(loads(row["golden_calls"])), knobs=loads(row["knobs"]),
    )  # fmt: skip


def demo_to_row(demo: Demo) -> Row:
    """A row of `records.DEMOS`."""
    return {
        "task_id": demo.task_id, "author": demo.author, "messages": messages_to_json(demo.messages),
        "tools": tools_to_json(demo.tools), "harness_hash": demo.harness_hash, "outcome": demo.outcome,
        "process": demo.process,
    }  # fmt: skip


def demo_from_row(row: Row) -> Demo:
    """Inverse of `demo_to_row`."""
    return Demo(
        task_id=row["task_id"], author=row["author"], messages=messages_from_json(row["messages"]),
        tools=tuple(loads(row["tools"])), harness_hash=row["harness_hash"], outcome=row["outcome"],
        process=row["process"],
    )  # fmt: skip


def rollout_to_row(rollout: Rollout) -> Row:
    """A row of `records.ROLLOUTS`; one list entry a turn in the nested columns."""
    turns = rollout.turns
    conversation = tuple(m for turn in turns for m in (turn.message, *turn.tool_results))
    return {
        "task_id": rollout.task_id, "environment": rollout.environment, "template": rollout.template,
        "try_index": rollout.try_index, "model": rollout.model, "stop_reason": rollout.stop_reason.value,
        "grades": grades_to_json(rollout.grades), "turn_count": len(turns),
        "token_count": sum(len(turn.token_ids) for turn in turns), "messages": messages_to_json(conversation),
        "prompt_ids": list(rollout.prompt_ids), "token_ids": [list(turn.token_ids) for turn in turns],
        "logprobs": [list(turn.logprobs) for turn in turns],
        "observation_ids": [list(turn.observation_ids) for turn in turns],
        "policy_versions": [turn.policy_version for turn in turns], "state_hashes": [turn.state_hash for turn in turns],
        "sampling": dumps(rollout.sampling), **grade_columns(rollout.grades),
    }  # fmt: skip


def rollout_from_row(row: Row) -> Rollout:
    """Inverse of `rollout_to_row`."""
    return Rollout(
        **{k: row[k] for k in ("task_id", "environment", "template", "try_index", "model")},
        prompt_ids=tuple(row["prompt_ids"]), turns=_turns(row), grades=grades_from_json(row["grades"]),
        stop_reason=StopReason(row["stop_reason"]), sampling=loads(row["sampling"]),
    )  # fmt: skip


def _turns(row: Row) -> tuple[Turn, ...]:
    spoken: list[list[Message]] = []
    for message in messages_from_json(row["messages"]):
        if message.role == "assistant":
            spoken.append([message])
        else:
            spoken[-1].append(message)
    columns = (row[k] for k in ("token_ids", "logprobs", "observation_ids", "policy_versions", "state_hashes"))
    return tuple(
        Turn(tuple(ids), tuple(logps), version, said[0], tuple(said[1:]), tuple(seen), state)
        for said, ids, logps, seen, version, state in zip(spoken, *columns, strict=True)
    )
