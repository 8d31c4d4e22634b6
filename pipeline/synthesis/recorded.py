"""What a desk would have recorded: runs of scripted agents, written in two public trace formats."""

import random
from collections.abc import Iterator
from typing import Any

import orjson

from pipeline.environments.worlds import World
from pipeline.graders.reward import outcome
from pipeline.records import JsonObject, Message, Task
from pipeline.synthesis.scripted import draw_habits, run_scripted
from pipeline.synthesis.tasks import compiled_of, task_from, templates_of


def recorded_tasks(world: World, seed: int, groups: int) -> Iterator[Task]:
    """The cases that the agents worked on, as frequent as the spec's `traffic` says; ids are of the train split."""
    templates = templates_of(compiled_of(world), "train")
    traffic = [template.traffic for template in templates]
    for index in range(groups):
        rng = random.Random(f"recorded-{world.name}-{seed}-{index}")
        drawn = None
        while not isinstance(drawn, Task):
            drawn = task_from(world, rng, rng.choices(templates, traffic)[0].name, "train", seed)
        yield drawn


def recorded_run(world: World, task: Task, trial: int, skip: float, slip: float) -> tuple[tuple[Message, ...], float]:
    """One agent's run of a task and its outcome (0 or 1)."""
    rng = random.Random(f"run-{task.task_id}-{trial}")
    messages, grades = run_scripted(world, task, draw_habits(compiled_of(world), rng, skip), rng, slip)
    return messages, float(outcome(grades) or 0.0)


def openai_row(world: World, task: Task, trial: int, messages: tuple[Message, ...], reward: float) -> bytes:
    """A line of OpenAI chat JSONL: string arguments, null content beside calls, tools at the row's top level."""
    row = {"messages": [_openai(message) for message in messages], "tools": world.tools}
    return _line(row, task, trial, reward)


def anthropic_row(world: World, task: Task, trial: int, messages: tuple[Message, ...], reward: float) -> bytes:
    """A line of Anthropic messages: content blocks, results in user messages, system at the top level."""
    tools = [
        {"name": tool["function"]["name"], "description": tool["function"]["description"],
         "input_schema": tool["function"]["parameters"]}
        for tool in world.tools
    ]  # fmt: skip
    row = {"system": messages[0].content, "tools": tools, "messages": [_anthropic(each) for each in messages[1:]]}
    return _line(row, task, trial, reward)


def _line(row: JsonObject, task: Task, trial: int, reward: float) -> bytes:
    origin = {"task_id": task.task_id, "trial": trial, "reward": reward}
    return orjson.dumps(row | origin, option=orjson.OPT_APPEND_NEWLINE)


def _openai(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        out["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw_arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        out |= {"tool_call_id": message.tool_call_id, "name": message.name}
    return out


def _anthropic(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        block = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}
        return {"role": "user", "content": [block]}
    if not message.tool_calls:
        return {"role": message.role, "content": message.content}
    uses = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in message.tool_calls
    ]
    return {"role": "assistant", "content": uses}
