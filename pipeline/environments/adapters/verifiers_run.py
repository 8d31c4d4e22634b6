"""The part of the adapter that knows the library `verifiers`: one task's rollout, from its setup to its rewards.

Here and in `verifiers_tools` only is the library imported. All coroutines run on one event loop.
"""

from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import verifiers.v1 as vf
from pydantic import ValidationError
from verifiers.v1.runtimes import provision_runtime
from verifiers.v1.state import state_cls
from verifiers.v1.utils.decorators import discover_decorated, invoke
from verifiers.v1.utils.loaders import environment_class, taskset_config_type

from pipeline.environments.adapters.files import VerifiersFile
from pipeline.environments.adapters.schemas import all_different
from pipeline.environments.adapters.verifiers_tools import Tool, open_tools
from pipeline.environments.event_loop import wait_for
from pipeline.errors import InputError
from pipeline.records import JsonObject, Message

MODEL = "policy"
"""What the agent is called in the library's records."""


@dataclass(frozen=True, slots=True)
class Run:
    """One rollout, as the library sees it."""

    task: Any
    trace: Any
    runtime: Any
    tools: dict[str, Tool]
    stack: AsyncExitStack

    async def call(self, name: str, arguments: JsonObject) -> tuple[str, bool]:
        """What the tool says, and whether it refuses."""
        return await self.tools[name].call(arguments, self.trace.state)

    async def score(self, system: str, question: str, transcript: Sequence[Message]) -> tuple[float | None, str]:
        """The reward and what it is made of; None where one of its parts could not be scored."""
        _fill(self.trace, system, question, transcript)
        await invoke(self.task.finalize, {"trace": self.trace, "runtime": self.runtime})
        await self.task.score(self.trace, self.runtime)
        rewards: dict[str, Any] = self.trace.rewards
        lacking = [name for name, reward in rewards.items() if reward is None]
        if lacking or not rewards:
            return None, f"not scored: {', '.join(lacking) or 'the task has no reward'}"
        parts = (f"{name} {reward.score:g} x {reward.weight:g}" for name, reward in sorted(rewards.items()))
        return float(self.trace.reward), ", ".join(parts)

    async def close(self) -> None:
        """Give back servers and the working folder."""
        await self.stack.aclose()


class Named:
    """A taskset that can be played here, and the tools that each of its tasks has."""

    def __init__(self, where: str, taskset: Any) -> None:
        """`where` names the file of the user in errors."""
        self._where, self._taskset = where, taskset
        self._task_type = type(taskset).task_type()
        self._tools = wait_for(self._listed())

    def schemas(self) -> tuple[JsonObject, ...]:
        """Schemas of the tools. Raises InputError when two share a name, or one has no JSON schema."""
        return all_different(self._where, [tool.schema(self._where) for tool in self._tools])

    def tasks(self) -> Iterator[tuple[str, JsonObject]]:
        """Question and data of each task, in the taskset's order. Raises InputError for one without a plain prompt."""
        for task in self._taskset:
            self._refuse(task)
            yield _question(self._where, task.data), task.data.model_dump(mode="json", exclude_none=True)

    async def open(self, data: JsonObject) -> Run:
        """A rollout of the task with this data, set up. Raises InputError for a task that cannot be played here."""
        task = self._task_type(self._task_type.data_type().model_validate(data), self._taskset.config.task)
        self._refuse(task)
        async with AsyncExitStack() as stack:
            trace = _trace(task)
            runtime = await stack.enter_async_context(provision_runtime(vf.SubprocessConfig(), trace.id))
            await invoke(task.setup, {"trace": trace, "runtime": runtime})
            tools = {tool.name: tool for tool in await self._open_tools(stack, task.data)}
            return Run(task, trace, runtime, tools, stack.pop_all())

    async def _open_tools(self, stack: AsyncExitStack, data: Any | None) -> list[Tool]:
        """Tools of the whole taskset, then the task's own; without `data` only to be listed."""
        config = self._taskset.config
        started = data is not None
        tools = [await open_tools(self._where, one, stack, started) for one in type(self._taskset).toolsets(config)]
        for toolset in self._task_type.toolsets(config.task):
            tools.append(await open_tools(self._where, toolset, stack, started))
            if started:
                await toolset.setup_task(data)
        return [tool for found in tools for tool in found]

    async def _listed(self) -> list[Tool]:
        async with AsyncExitStack() as stack:
            return await self._open_tools(stack, None)

    def _refuse(self, task: Any) -> None:
        """Raises InputError for what only the library's own loop can do."""
        needs = {
            "a container": task.NEEDS_CONTAINER or task.data.image,
            "hooks that stop the agent": task.hooks("stop"),
            "hooks that rewrite its messages": discover_decorated(task, "intercept"),
        }
        found = [what for what, present in needs.items() if present]
        if found:
            raise InputError(f"{self._where}: task {task.data.idx} needs {found[0]}, which only the library's loop has")
        if not task.hooks("reward") and not task.config.judges:
            raise InputError(f"{self._where}: task {task.data.idx} has neither @reward nor judges")


def name_taskset(where: str, file: VerifiersFile) -> Named:
    """The taskset of a user's file. Raises InputError when it is not installed, not so configured, or needs more."""
    try:
        config = taskset_config_type(file.taskset).model_validate({**file.config, "id": file.taskset})
        taskset = vf.load_taskset(config)
        agents = environment_class(file.taskset)
    except (ModuleNotFoundError, AttributeError, TypeError, ValueError) as error:
        # ValidationError is a ValueError; the library says by these which plugin or value is wrong.
        said = _first_fault(error) if isinstance(error, ValidationError) else str(error)
        raise InputError(f"{where}: taskset {file.taskset!r}: {' '.join(said.split())}") from error
    if agents is not vf.SingleAgentEnv:
        raise InputError(
            f"{where}: taskset {file.taskset!r} brings agents of its own, {agents.__name__}; not played here"
        )
    return Named(where, taskset)


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    return f"config.{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


def _trace(task: Any) -> Any:
    about = vf.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash)
    config = vf.AgentConfig(model=MODEL, runtime=vf.SubprocessConfig())
    return vf.Trace(task=about, state=state_cls(type(task))(), agent=vf.AgentInfo(config=config))


def _question(where: str, data: Any) -> str:
    """System prompt and prompt as one text: here the system message is the environment's, not the task's."""
    if not isinstance(data.prompt, str | list):
        raise InputError(f"{where}: task {data.idx} has no prompt: its user speaks first, which is not played here")
    if not isinstance(data.prompt, str) and any(one.role in ("assistant", "tool") for one in data.prompt):
        raise InputError(f"{where}: task {data.idx} starts amid a conversation, which is not played here")
    return "\n\n".join(part for part in (data.system_prompt, data.prompt_text) if part)


def _fill(trace: Any, system: str, question: str, transcript: Sequence[Message]) -> None:
    """Put the conversation into the trace, for rewards that read it."""
    opening = [vf.SystemMessage(content=system)] if system else []
    messages = [*opening, vf.UserMessage(content=question), *map(_message, transcript)]
    own = [False] * (len(opening) + 1) + [message.role == "assistant" for message in transcript]
    trace.nodes.extend(
        vf.MessageNode(parent=place - 1 if place else None, message=message, sampled=sampled)
        for place, (message, sampled) in enumerate(zip(messages, own, strict=True))
    )
    spoke = bool(transcript) and transcript[-1].role == "assistant" and not transcript[-1].tool_calls
    trace.stop("agent_completed" if spoke else "max_turns")


def _message(message: Message) -> Any:
    if message.role == "tool":
        return vf.ToolMessage(tool_call_id=message.tool_call_id or "", content=message.content or "", name=message.name)
    if message.role == "user":
        return vf.UserMessage(content=message.content or "")
    calls = [vf.ToolCall(id=call.id, name=call.name, arguments=call.raw_arguments) for call in message.tool_calls]
    return vf.AssistantMessage(content=message.content, reasoning_content=message.reasoning, tool_calls=calls or None)
