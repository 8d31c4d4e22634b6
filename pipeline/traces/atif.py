"""ATIF, the trajectory format of Harbor, v1.0 to v1.8: an object with `agent` and `steps`, each step with its results.

Copied context is not trained twice. A result that names no call belongs to its step: to the call of the same place when
there are as many calls as results, else to all of them together. Sub-agents inside a trajectory are traces of their
own. Rewards are not part of the format; see `pipeline.traces.harbor`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Message, Quarantined, Role, Trace
from pipeline.traces.conversation import Conversation, inside
from pipeline.traces.framing import Record
from pipeline.traces.origin import Origin, build_trace
from pipeline.traces.parts import read_parts
from pipeline.traces.preview import objects
from pipeline.traces.reading import FAULTS, fault_of, quarantined, read_rows
from pipeline.traces.reasons import Reason
from pipeline.traces.tools import read_tools

NAME = "atif"
NEWEST = 8
"""The newest minor version that is known; a newer one is read, with a note."""

_VERSION = re.compile(r"(?:ATIF-)?v?(\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?")
_OPENING = re.compile(rb'"schema_version"\s*:\s*"ATIF-v?\d')
_KEPT = ("schema_version", "session_id", "trajectory_id", "final_metrics", "continued_trajectory_ref", "notes", "extra")


def sniff(head: bytes) -> bool:
    """Whether some object near the start has steps, and a version or a first step of this format."""
    return any(map(_is_trajectory, objects(head)))


def is_opening(head: bytes) -> bool:
    """Whether a file that starts with `head`, a few kilobytes, names a version of this format."""
    return _OPENING.search(head) is not None


def read(path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield a trace or a quarantine row for every trajectory, sub-agents after their agent. Raises OSError."""
    return read_rows(path, source, max_bytes, _parse)


def _parse(row: JsonObject, record: Record, source: str) -> list[Trace | Quarantined]:
    found: list[Trace | Quarantined] = []
    waiting: list[tuple[str, Any]] = [("", row)]
    for at, each in waiting:  # grows while it is read: sub-agents may have sub-agents
        try:
            found.append(_trace(each, record, source, at))
        except FAULTS as error:
            fault = fault_of(error)
            found.append(quarantined(source, record.line, inside(at, fault) if at else fault))
        inner = each.get("subagent_trajectories") if isinstance(each, dict) else None
        if isinstance(inner, list):
            prefix = f"{at}.subagent_trajectories".lstrip(".")
            waiting += ((f"{prefix}[{index}]", sub) for index, sub in enumerate(inner))
    return found


def _trace(row: Any, record: Record, source: str, at: str) -> Trace:
    if not isinstance(row, dict):
        raise TraceError(Reason.NOT_AN_OBJECT, f"a trajectory must be an object, found {row!r:.60}")
    if not isinstance(row.get("steps"), list):
        raise TraceError(Reason.MISSING_FIELD, f"no list of steps; keys are {', '.join(map(repr, row))}"[:300], "steps")
    agent = row.get("agent") if isinstance(row.get("agent"), dict) else {}
    assert isinstance(agent, dict)
    origin = _origin(row, agent, at)
    talk = Conversation()
    for index, step in enumerate(row["steps"]):
        try:
            _step(step, talk)
        except TraceError as fault:
            raise inside(f"steps[{index}]", fault) from fault
    return build_trace(record, source, NAME, talk, origin, read_tools(agent.get("tool_definitions")))


def _origin(row: JsonObject, agent: JsonObject, at: str) -> Origin:
    metadata = {key: row[key] for key in _KEPT if row.get(key) is not None}
    metadata["agent"] = {key: value for key, value in agent.items() if key != "tool_definitions"}
    metadata |= _version_note(row.get("schema_version"))
    if at:
        metadata["subagent"] = at
    session, document = (row.get(key) if isinstance(row.get(key), str) else None for key in _KEPT[1:3])
    run = f"atif\n{session}\n{document}\n{at}" if session or document else None
    return Origin(run_id=run, metadata=metadata)


def _version_note(version: Any) -> JsonObject:
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if match is None:
        return {}
    if match[1] != "1":
        raise TraceError(Reason.BAD_FIELD, f"only version 1 of ATIF is known, found {version!r:.60}", "schema_version")
    return {"newer_version": f"read as v1.{NEWEST}, the newest known"} if int(match[2]) > NEWEST else {}


def _step(step: Any, talk: Conversation) -> None:
    if not isinstance(step, dict):
        raise TraceError(Reason.BAD_FIELD, f"a step must be an object, found {step!r:.60}")
    source, copied = step.get("source"), step.get("is_copied_context") is True
    if copied:
        talk.counts["copied_steps"] += 1
    text = _text(step.get("message"), talk, "message")
    if source == "agent":
        calls = _agent(step, text, copied, talk)
        _results(_told(step, talk), calls, "user", not copied, talk)
    elif source in ("system", "user"):
        role: Role = "system" if source == "system" else "user"
        talk.say(Message(role, text, trainable=not copied))
        _results(_told(step, talk), 0, role, not copied, talk)
    else:
        raise TraceError(Reason.UNKNOWN_ROLE, f"unknown source {source!r:.60}", "source")


def _agent(step: JsonObject, text: str | None, copied: bool, talk: Conversation) -> int:
    """Say the agent's turn and return how many calls it makes."""
    raw = step.get("tool_calls") or []
    if not isinstance(raw, list) or not all(isinstance(call, dict) for call in raw):
        raise TraceError(Reason.BAD_TOOL_CALL, f"tool_calls must be a list of objects, found {raw!r:.60}", "tool_calls")
    calls = tuple(talk.call(c.get("tool_call_id"), c.get("function_name"), c.get("arguments")) for c in raw)
    reasoning = _text(step.get("reasoning_content"), talk, "reasoning_content")
    metrics = step.get("metrics")
    if isinstance(metrics, dict) and metrics.get("completion_token_ids"):
        talk.counts["steps_with_token_ids"] += 1
    written = step.get("llm_call_count") != 0  # 0: a fixed dispatch, which no model wrote
    talk.say(Message("assistant", text, calls, None, None, reasoning, written and not copied))
    return len(calls)


def _told(step: JsonObject, talk: Conversation) -> list[JsonObject]:
    """The results of a step that tell something; references to sub-agents are only counted."""
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else observation
    if results is None:
        return []
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise TraceError(Reason.BAD_FIELD, f"results must be a list of objects, found {results!r:.60}", "observation")
    talk.counts["subagent_refs"] += sum(1 for result in results if result.get("subagent_trajectory_ref"))
    return [result for result in results if result.get("content") is not None or result.get("source_call_id")]


def _results(told: list[JsonObject], calls: int, speaker: Role, trainable: bool, talk: Conversation) -> None:
    in_order = all(not result.get("source_call_id") for result in told) and len(told) == calls
    for result in told:
        call_id, text = result.get("source_call_id"), _text(result.get("content"), talk, "observation.content")
        if call_id is not None and not isinstance(call_id, str):
            raise TraceError(Reason.BAD_FIELD, f"source_call_id must be text, found {call_id!r:.60}", "source_call_id")
        if call_id or in_order:
            talk.answer(call_id, text, trainable=trainable)
        elif calls:
            talk.answer_step(text, trainable)
        else:  # what a terminal shows after an action that was written as text is the agent's next prompt
            talk.say(Message(speaker, text, trainable=trainable))


def _text(content: Any, talk: Conversation, field: str) -> str | None:
    if content is None or isinstance(content, str):
        return content
    try:
        return read_parts(content, talk)[0]
    except TraceError as fault:
        raise TraceError(fault.reason, fault.message, (fault.field or "").replace("content", field, 1)) from fault


def _is_trajectory(row: JsonObject) -> bool:
    steps, version = row.get("steps"), row.get("schema_version")
    if not isinstance(steps, list) or not isinstance(row.get("agent", {}), dict):
        return False
    if isinstance(version, str) and _VERSION.fullmatch(version):
        return True
    return bool(steps) and isinstance(steps[0], dict) and {"step_id", "source"} <= steps[0].keys()
