"""What a grader sees of an episode: the same for a rollout of ours and for a trace of somebody's agent.

Nothing in a view is executed, and no grader may change it. What is not known is None: a trace has no state, no golden
calls and no tokens, and a rollout read back from a file has no final state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

from pipeline.grader_params import GraderEntry
from pipeline.records import Grade, JsonObject, Message, Rollout, StopReason, Task, ToolCall, Trace, TraceStatus

BROKEN = (StopReason.ENVIRONMENT_ERROR, StopReason.TIMEOUT, StopReason.USER_ERROR, StopReason.CANCELLED)
"""Ends that are not the agent's doing: nothing about such an episode can be graded."""


@dataclass(frozen=True, slots=True)
class Made:
    """One tool call that the agent made, with what came back."""

    turn: int
    """Turn it belongs to, from 0; the same number that `Grade.turn` takes."""
    call: ToolCall
    answer: str | None
    """The tool's answer; None where none came or none was recorded."""


@dataclass(frozen=True, slots=True)
class View:
    """One episode. `fault` says why it cannot be graded, and is empty when it can."""

    episode: str
    """Task and try, or the trace: for messages only."""
    group: str
    """Tries of one task share it: the task's id, or a trace's group or own id."""
    environment: str
    """Name of the environment; empty for a trace."""
    question: str
    messages: tuple[Message, ...]
    """All after the question, in order: the agent's turns, tools' answers, what a user said meanwhile."""
    made: tuple[Made, ...]
    """All tool calls in order, unreadable ones (`call.arguments` None) included."""
    turns: int
    tokens: int | None
    """Tokens that the agent sampled."""
    answer: str | None
    """The agent's last words; None when the episode ended otherwise than by its answer."""
    stop_reason: StopReason | None
    fault: str = ""
    procedure: str = ""
    """The rules of the work as the agent was told, where known."""
    initial_state: JsonObject | None = None
    final_state: JsonObject | None = None
    golden_state: JsonObject | None = None
    golden_calls: tuple[JsonObject, ...] | None = None
    """`{"name": ..., "arguments": {...}}`, the calls of a right solution."""
    knobs: JsonObject | None = None


class Grader(Protocol):
    """Judges one episode at a time."""

    @property
    def params(self) -> GraderEntry:
        """Its entry in params."""

    def grade(self, view: View) -> tuple[Grade, ...]:
        """One grade of the episode (`turn` None) for each of `params.gives()`, and any number of grades on turns.

        Never called with a view that has a `fault`. Raises GraderFault, and nothing else, when no grade can be had.
        """


class GroupGrader(Protocol):
    """Judges all episodes at hand at once: the tries of one task against each other, or each by itself where many
    answers of somebody else are waited for. Its views never hold the final state.
    """

    @property
    def params(self) -> GraderEntry:
        """Its entry in params."""

    def grade_groups(self, views: Sequence[View]) -> list[tuple[Grade, ...]]:
        """For each view, in order, what `Grader.grade` would give. No view has a `fault`; tries of one task share
        `View.group` and may lie anywhere in the list.
        """


def view_of_rollout(
    rollout: Rollout, task: Task, *, final_state: JsonObject | None = None, fault: str = "", procedure: str = ""
) -> View:
    """The view of one try of `task`. `final_state` is known only where the episode was played."""
    broken = rollout.stop_reason in BROKEN
    last = rollout.turns[-1].message if rollout.turns else None
    answered = rollout.stop_reason is StopReason.FINISHED and last is not None and not last.tool_calls
    return View(
        episode=f"task {rollout.task_id}, try {rollout.try_index}", group=rollout.task_id,
        environment=rollout.environment, question=task.question,
        messages=tuple(message for turn in rollout.turns for message in (turn.message, *turn.tool_results)),
        made=tuple(
            made for number, turn in enumerate(rollout.turns) for made in _made(number, turn.message, turn.tool_results)
        ),
        turns=len(rollout.turns), tokens=sum(len(turn.token_ids) for turn in rollout.turns),
        answer=last.content if answered and last is not None else None, stop_reason=rollout.stop_reason,
        fault=fault or (f"the episode ended by {rollout.stop_reason}" if broken else ""), procedure=procedure,
        initial_state=task.initial_state, final_state=final_state, golden_state=task.golden_state,
        golden_calls=task.golden_calls, knobs=task.knobs,
    )  # fmt: skip


def view_of_trace(trace: Trace) -> View:
    """The view of a recorded run: no state, no golden calls, no tokens."""
    system = "\n\n".join(m.content for m in trace.messages if m.role == "system" and m.content)
    start = next((n for n, message in enumerate(trace.messages) if message.role == "user"), -1)
    messages = tuple(message for message in trace.messages[start + 1 :] if message.role != "system")
    turns = _turns(messages)
    last = turns[-1][0] if turns else None
    ended = trace.status in (TraceStatus.OK, TraceStatus.UNKNOWN) and last is not None and not last.tool_calls
    return View(
        episode=f"trace {trace.trace_id}", group=trace.group_id or trace.trace_id, environment="",
        question=(trace.messages[start].content or "") if start >= 0 else "", messages=messages,
        made=tuple(made for n, (said, answers) in enumerate(turns) for made in _made(n, said, answers)),
        turns=len(turns), tokens=None, answer=last.content if ended and last is not None else None,
        stop_reason=StopReason.FINISHED if trace.status is TraceStatus.OK else None,
        fault=trace.error or "the recorded run failed" if trace.status is TraceStatus.ERROR else "", procedure=system,
    )  # fmt: skip


def _turns(messages: Sequence[Message]) -> list[tuple[Message, list[Message]]]:
    """Each assistant message with the tools' answers up to the next one."""
    turns: list[tuple[Message, list[Message]]] = []
    for message in messages:
        if message.role == "assistant":
            turns.append((message, []))
        elif message.role == "tool" and turns:
            turns[-1][1].append(message)
    return turns


def _made(turn: int, message: Message, answers: Sequence[Message]) -> list[Made]:
    """The turn's calls with their answers: by id where the answers carry it, else by place."""
    by_id = {answer.tool_call_id: answer.content for answer in answers if answer.tool_call_id}
    loose = [answer.content for answer in answers if answer.role == "tool" and not answer.tool_call_id]
    unnamed = (call for call in message.tool_calls if call.id not in by_id)
    placed = {id(call): content for call, content in zip_longest(unnamed, loose) if call is not None}
    return [Made(turn, call, by_id.get(call.id, placed.get(id(call)))) for call in message.tool_calls]
