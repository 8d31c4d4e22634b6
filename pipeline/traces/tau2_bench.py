"""tau2-bench results: one object with `info`, `tasks` and `simulations`, or one simulation a file.

The tries of one task in one file are a group. A simulation that the infrastructure or the simulated user broke off is
an error without a reward; a `reward_info` of null is "not known". The user's own tool calls are not the agent's and are
left out with their results, as the agent never saw them. The policy is what the agent was told: the system message.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Message, Quarantined, Trace, TraceStatus
from pipeline.traces.conversation import Conversation, inside
from pipeline.traces.framing import Record
from pipeline.traces.origin import Origin, build_trace, identifier, number
from pipeline.traces.parts import media_mark
from pipeline.traces.preview import objects
from pipeline.traces.reading import FAULTS, fault_of, part_of, quarantined, read_rows
from pipeline.traces.reasons import Reason
from pipeline.traces.scores import flat_scores
from pipeline.traces.tools import NO_TOOLS, Tools, read_tools

NAME = "tau2_bench"
_LONE = frozenset({"task_id", "messages", "termination_reason"})
_NOT_KEPT = frozenset({"messages", "ticks", "policy", "effect_timeline"})
_ENDED = {
    TraceStatus.OK: "user_stop agent_stop agent_error invalid_agent_message",
    TraceStatus.TRUNCATED: "max_steps too_many_errors context_window_exceeded",
    TraceStatus.ERROR: "infrastructure_error unexpected_error user_error timeout",
}
_STATUS = {word: status for status, words in _ENDED.items() for word in words.split()}


def sniff(head: bytes) -> bool:
    """Whether some object near the start describes simulations, or is one."""
    return any(row.keys() >= _LONE or is_results(row) for row in objects(head))


def read(path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield a trace or a quarantine row for every simulation. Raises OSError."""
    return Simulations().read(path, source, max_bytes)


def is_results(row: Any) -> bool:
    """Whether an object is a results file: the simulations, or what they have in common."""
    return isinstance(row, dict) and isinstance(row.get("info"), dict) and "environment_info" in row["info"]


@dataclass(frozen=True, slots=True)
class Simulations:
    """Reads simulations that have something in common which may stand in another file."""

    common: JsonObject = field(default_factory=dict)
    """The results file without its simulations."""
    group: str | None = None
    """Source of the results file, which names the groups; None: each file names its own."""

    def sniff(self, head: bytes) -> bool:
        """As the module's."""
        return sniff(head)

    def read(self, path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
        """As the module's."""
        return read_rows(path, source, max_bytes, self._parse)

    def _parse(self, row: JsonObject, record: Record, source: str) -> list[Trace | Quarantined]:
        if "simulations" not in row and not is_results(row):
            return [_simulation(row, self.common, record, source, self.group or source)]
        simulations = row.get("simulations")
        if not isinstance(simulations, list) or not simulations:
            reason = "no simulations; the folder `simulations` belongs beside this file"
            raise TraceError(Reason.MISSING_FIELD, reason, "simulations")
        found: list[Trace | Quarantined] = []
        for index, each in enumerate(simulations):
            place = f"simulations[{index}]"
            try:
                found.append(_simulation(each, row, part_of(record, place, index), source, source))
            except FAULTS as error:
                found.append(quarantined(source, record.line, inside(place, fault_of(error))))
        return found


def _simulation(row: Any, common: JsonObject, record: Record, source: str, group: str) -> Trace:
    if not isinstance(row, dict):
        raise TraceError(Reason.NOT_AN_OBJECT, f"a simulation must be an object, found {row!r:.60}")
    if row.get("task_id") is None:
        raise TraceError(Reason.MISSING_FIELD, f"no task_id; keys are {', '.join(map(repr, row))}"[:300], "task_id")
    about, place = _object(common.get("info")), _object(_object(common.get("info")).get("environment_info"))
    policy = row.get("policy") or place.get("policy")
    talk = _talk(row.get("messages"), policy if isinstance(policy, str) else None)
    origin = _origin(row)
    origin.metadata |= {"domain": place.get("domain_name"), "agent_info": about.get("agent_info")}
    origin.metadata["task"] = _task(common.get("tasks"), origin.task_id)
    origin.metadata = {key: value for key, value in origin.metadata.items() if value is not None}
    trace = build_trace(record, source, NAME, talk, origin, _tools(place.get("tool_defs")))
    return replace(trace, group_id=f"{group}#{origin.task_id}")


def _origin(row: JsonObject) -> Origin:
    task, run = identifier(row["task_id"], "task_id"), identifier(row.get("id"), "id")
    word = row.get("termination_reason")
    status = _STATUS.get(word, TraceStatus.UNKNOWN) if isinstance(word, str) else TraceStatus.UNKNOWN
    info = _object(row.get("reward_info"))
    scores = flat_scores("reward_breakdown", info.get("reward_breakdown"))
    checks = info.get("action_checks")
    if isinstance(checks, list) and checks:
        scores["action_checks"] = sum(_object(check).get("action_match") is True for check in checks) / len(checks)
    return Origin(
        task_id=task,
        try_id=identifier(row.get("trial"), "trial"),
        run_id=f"tau2\n{run}" if run else None,
        reward=number(info.get("reward"), "reward_info.reward"),
        status=status,
        error=str(word) if status is TraceStatus.ERROR else None,
        scores=scores,
        metadata={key: value for key, value in row.items() if key not in _NOT_KEPT},
    )


def _talk(messages: Any, policy: str | None) -> Conversation:
    if not isinstance(messages, list | None):
        raise TraceError(Reason.BAD_FIELD, f"messages must be a list, found {messages!r:.60}", "messages")
    talk = Conversation()
    if messages and policy is not None:
        talk.say(Message("system", policy))
    for index, message in enumerate(messages or []):
        try:
            _message(message, talk, first=index == 0)
        except TraceError as fault:
            raise inside(f"messages[{index}]", fault) from fault
    return talk


def _message(raw: Any, talk: Conversation, first: bool) -> None:
    if not isinstance(raw, dict):
        raise TraceError(Reason.BAD_FIELD, f"a message must be an object, found {raw!r:.60}")
    role = raw.get("role")
    if role == "tool":
        several = raw.get("tool_messages")
        for each in several if isinstance(several, list) else [raw]:
            _result(_object(each), talk)
    elif role == "assistant":
        calls = tuple(talk.call(c.get("id"), c.get("name"), c.get("arguments")) for c in _calls(raw))
        # Before the user has said a word, the agent says a fixed greeting, which no model wrote.
        talk.say(Message("assistant", _content(raw, talk), calls, trainable=not first or bool(calls)))
    elif role == "user":
        if calls_of_user := len(_calls(raw)):
            talk.counts["user_tool_calls"] += calls_of_user
        if raw.get("content") is not None or not calls_of_user:
            talk.say(Message("user", _content(raw, talk)))
    elif role == "system":
        talk.say(Message("system", _content(raw, talk)))
    else:
        raise TraceError(Reason.UNKNOWN_ROLE, f"unknown role {role!r:.60}", "role")


def _result(raw: JsonObject, talk: Conversation) -> None:
    if raw.get("requestor") != "user":
        talk.answer(identifier(raw.get("id"), "id"), _content(raw, talk), error=raw.get("error") is True)


def _calls(raw: JsonObject) -> list[JsonObject]:
    calls = raw.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise TraceError(
            Reason.BAD_TOOL_CALL, f"tool_calls must be a list of objects, found {calls!r:.60}", "tool_calls"
        )
    return calls


def _content(raw: JsonObject, talk: Conversation) -> str | None:
    content = raw.get("content")
    if content is not None and not isinstance(content, str):
        raise TraceError(Reason.BAD_FIELD, f"content must be text, found {content!r:.60}", "content")
    return media_mark("audio", talk) if raw.get("is_audio") is True else content


def _tools(raw: Any) -> Tools:
    """Signatures by name, or a list in OpenAI's form."""
    if not isinstance(raw, dict):
        return read_tools(raw, "info.environment_info.tool_defs") if isinstance(raw, list) else NO_TOOLS
    signatures = ((name, _object(each)) for name, each in raw.items())
    return read_tools(
        [{"name": name, "description": each.get("doc"), "parameters": each.get("params")} for name, each in signatures],
        "info.environment_info.tool_defs",
    )


def _task(tasks: Any, task_id: str | None) -> JsonObject | None:
    found = (task for task in tasks if isinstance(task, dict)) if isinstance(tasks, list) else ()
    return next((task for task in found if str(task.get("id")) == task_id), None)


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}
