"""SWE-agent trajectories: an object with `history`, `trajectory` and `info`, or with `attempts` of a retrying agent.

Three styles of action are read: tool calls, a thought with a fenced command, calls in XML. Commands become calls of one
tool `bash`, observations their results. Demonstrations are not trained on. `exit_status` says how a run ended, not
whether it solved its task: that stands in a report elsewhere, so the reward is not known.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Message, Quarantined, Role, ToolCall, Trace, TraceStatus
from pipeline.traces import openai_chat
from pipeline.traces.conversation import Conversation, inside
from pipeline.traces.framing import Record
from pipeline.traces.origin import Origin, build_trace, identifier
from pipeline.traces.parts import read_parts
from pipeline.traces.preview import objects
from pipeline.traces.reading import FAULTS, fault_of, part_of, quarantined, read_rows
from pipeline.traces.reasons import Reason
from pipeline.traces.text_actions import Action, command, fenced, xml_calls

NAME = "swe_agent"
_BROKEN = frozenset({"exit_error", "exit_api", "exit_environment_error", "early_exit", "skipped"})
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


def sniff(head: bytes) -> bool:
    """Whether some object near the start is a run of this agent, or several attempts."""
    return any(map(_is_run, objects(head)))


def read(path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield a trace or a quarantine row for every run, each attempt by itself. Raises OSError."""
    return read_rows(path, source, max_bytes, _parse)


def _parse(row: JsonObject, record: Record, source: str) -> list[Trace | Quarantined]:
    attempts = row.get("attempts")
    if not isinstance(attempts, list) or not attempts:
        return [_trace(row, row, record, source, None)]
    # The file repeats the attempt that was chosen at its top level.
    found: list[Trace | Quarantined] = []
    for index, attempt in enumerate(attempts):
        place = f"attempts[{index}]"
        try:
            found.append(_trace(attempt, row, part_of(record, place, record.ordinal), source, index))
        except FAULTS as error:
            found.append(quarantined(source, record.line, inside(place, fault_of(error))))
    return found


def _trace(run: Any, whole: JsonObject, record: Record, source: str, attempt: int | None) -> Trace:
    if not isinstance(run, dict):
        raise TraceError(Reason.NOT_AN_OBJECT, f"an attempt must be an object, found {run!r:.60}")
    talk = Conversation()
    field = "history" if isinstance(run.get("history"), list) else "trajectory"
    for index, message in enumerate(_messages(run, field)):
        try:
            _message(message, talk)
        except TraceError as fault:
            raise inside(f"{field}[{index}]", fault) from fault
    return build_trace(record, source, NAME, talk, _origin(run, whole, record, source, attempt))


def _messages(run: JsonObject, field: str) -> list[Any]:
    """The history; of a run that kept none, the prompt of its first step and what was said and seen in each."""
    items = run.get(field)
    if not isinstance(items, list):
        raise TraceError(Reason.MISSING_FIELD, f"no history; keys are {', '.join(map(repr, run))}"[:300], "history")
    if field == "history":
        return items
    first = items[0].get("query") if items and isinstance(items[0], dict) else None
    found: list[Any] = list(first) if isinstance(first, list) else []
    for step in items:
        if not isinstance(step, dict):
            raise TraceError(Reason.BAD_FIELD, f"a step must be an object, found {step!r:.60}", "trajectory")
        found.append(step | {"role": "assistant", "content": step.get("response")})
        found.append({"role": "user", "content": step.get("observation")})
    return found


def _message(raw: Any, talk: Conversation) -> None:
    role = raw.get("role") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(role, str) or role not in _ROLES:
        raise TraceError(Reason.UNKNOWN_ROLE, f"a message needs a role, found {raw!r:.60}", "role")
    demo = raw.get("is_demo") is True
    if demo:
        talk.counts["demo_messages"] += 1
    content = raw.get("content")
    if content is not None and not isinstance(content, str):
        content = read_parts(content, talk)[0]
    if role == "assistant":
        _agent(raw, content, demo, talk)
    elif role == "tool" or (role == "user" and not demo and talk.is_waiting()):
        _observation(raw.get("tool_call_ids") or raw.get("tool_call_id"), content, not demo, talk)
    else:
        talk.say(Message(_ROLES[role], content, trainable=not demo))


def _agent(raw: JsonObject, content: str | None, demo: bool, talk: Conversation) -> None:
    calls: tuple[ToolCall, ...] = ()
    if raw.get("tool_calls"):
        calls = tuple(openai_chat.read_calls(raw, talk))
    elif content is not None:
        content, actions = _actions(raw, content)
        calls = tuple(talk.call(None, action.name, action.arguments) for action in actions)
    talk.say(Message("assistant", content, calls, trainable=not demo))


def _actions(raw: JsonObject, content: str) -> tuple[str, list[Action]]:
    """What the text asks to be done, and the text without it; the parsed thought and action where they were kept."""
    rest, calls = xml_calls(content)
    if calls:
        return rest, calls
    thought, action = raw.get("thought"), raw.get("action")
    if isinstance(action, str) and action.strip() and isinstance(thought, str):
        return thought, [command(action)]
    rest, blocks = fenced(content)
    return (rest, blocks) if len(blocks) == 1 else (content, [])


def _observation(ids: Any, content: str | None, trainable: bool, talk: Conversation) -> None:
    named = ids if isinstance(ids, list) else [ids] if ids else []
    if not all(isinstance(each, str) for each in named):
        raise TraceError(Reason.BAD_FIELD, f"tool_call_ids must be texts, found {ids!r:.60}", "tool_call_ids")
    if len(named) > 1:
        talk.answer_step(content, trainable)
    else:
        talk.answer(named[0] if named else None, content, trainable=trainable)


def _origin(run: JsonObject, whole: JsonObject, record: Record, source: str, attempt: int | None) -> Origin:
    info = run.get("info") if isinstance(run.get("info"), dict) else {}
    assert isinstance(info, dict)
    task = _task(run) or _task(whole)
    status, error = _status(info.get("exit_status"))
    kept = {key: value for key, value in info.items() if not key.startswith("edited_files")}
    metadata = {"environment": run.get("environment"), "info": kept or None, "attempt": attempt}
    origin = Origin(task, status=status, error=error)
    origin.metadata = {key: value for key, value in metadata.items() if value is not None}
    if attempt is not None:
        origin.task_id = task or f"record {record.ordinal}"
        origin.try_id = str(attempt)
        origin.run_id = f"swe_agent\n{source}\n{record.ordinal}\n{attempt}"
    return origin


def _task(run: JsonObject) -> str | None:
    """The instance that the run was about, out of what is kept to replay it (JSON text)."""
    config = run.get("replay_config")
    try:
        config = orjson.loads(config) if isinstance(config, str) else config
    except orjson.JSONDecodeError:
        return None
    problem = config.get("problem_statement") if isinstance(config, dict) else None
    found = problem.get("id") if isinstance(problem, dict) else None
    return identifier(found, "replay_config.problem_statement.id")


def _status(word: Any) -> tuple[TraceStatus, str | None]:
    if not isinstance(word, str) or not word:
        return TraceStatus.UNKNOWN, None
    if word in _BROKEN:
        return TraceStatus.ERROR, word
    return TraceStatus.OK if word == "submitted" else TraceStatus.TRUNCATED, None


def _is_run(row: JsonObject) -> bool:
    attempts = row.get("attempts")
    if isinstance(attempts, list) and attempts and isinstance(attempts[0], dict):
        return not attempts[0].keys().isdisjoint(("history", "trajectory"))
    history, steps = row.get("history"), row.get("trajectory")
    if isinstance(steps, list) and steps and isinstance(steps[0], dict):
        return steps[0].keys() >= {"action", "observation"}
    first = history[0] if isinstance(history, list) and history else None
    return isinstance(first, dict) and "role" in first and not first.keys().isdisjoint(("message_type", "agent"))
