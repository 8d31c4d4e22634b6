"""Claude Code session files: one event a line, or `{"loglines": [events]}`.

An agent's message is split over several events with one `message.id`; sub-agents (sidechains) are conversations of
their own and kept out of every loss, as are the texts that stand for slash commands and compaction summaries. Session
files hold no tools, no task and no reward.
"""

from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Quarantined, Trace, TraceStatus
from pipeline.traces.anthropic_messages import agent_message, read_message
from pipeline.traces.conversation import Conversation, inside
from pipeline.traces.framing import Record, records
from pipeline.traces.origin import Origin, build_trace, check_finite
from pipeline.traces.parts import kind_of
from pipeline.traces.preview import objects
from pipeline.traces.reading import FAULTS, fault_of, quarantined, row_object
from pipeline.traces.reasons import Reason
from pipeline.traces.session_tree import Branches, Event, conversations
from pipeline.traces.times import moment

NAME = "claude_code"
_NOT_THE_USER = ("Caveat:", "<command-", "<local-command-", "<bash-", "<system-reminder>")
_BACK = 64
"""How many blocks or messages of one id are compared with the next, so that a file of one id is read in one pass."""
_ENDED = {"end_turn": TraceStatus.OK, "stop_sequence": TraceStatus.OK, "refusal": TraceStatus.OK,
          "max_tokens": TraceStatus.TRUNCATED}  # fmt: skip


def sniff(head: bytes) -> bool:
    """Whether some record near the start is an event with a message, or a list of log lines."""
    return any(isinstance(row.get("loglines"), list) or _is_turn(row) for row in objects(head))


def read(path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield the traces of a session and a quarantine row for every line that is no event. Raises OSError."""
    events: list[Event] = []
    faults = 0
    for record in records(path, max_bytes):
        for found in _events(record, source):
            if isinstance(found, Event):
                events.append(found)
            else:
                faults += 1
                yield found
    yield from _traces(events, source, {"quarantined_lines": faults})


def _traces(events: list[Event], source: str, notes: dict[str, int]) -> Iterator[Trace | Quarantined]:
    events, notes["repeated_lines"] = _without_repeats(events)
    found, notes["dangling_parents"] = conversations(events)
    skipped = Counter(event.kind for event in events if not event.spoken)
    if not found and events:
        kinds = ", ".join(sorted(skipped))
        empty = TraceError(Reason.EMPTY_MESSAGES, f"no conversation; events of the kinds {kinds}"[:300])
        yield quarantined(source, events[0].line, empty)
    for index, branches in enumerate(found):
        common: JsonObject = {key: count for key, count in notes.items() if count}
        if skipped:
            common["skipped_events"] = dict(skipped)
        try:
            yield _trace(branches, source, index, common)
        except FAULTS as error:
            yield quarantined(source, branches.root.line, fault_of(error))
        dead = TraceError(Reason.ABANDONED_BRANCH, f"not on the branch that ends at line {branches.kept[-1].line}")
        yield from (quarantined(source, event.line, dead) for event in branches.abandoned)


def _events(record: Record, source: str) -> Iterator[Event | Quarantined]:
    try:
        row = row_object(record)
        check_finite(record)
    except TraceError as fault:
        yield quarantined(source, record.line, fault)
        return
    lines = row.get("loglines")
    for index, value in enumerate(lines if isinstance(lines, list) else [row]):
        try:
            yield _event(value, record.line)
        except FAULTS as error:
            found = fault_of(error)
            at = inside(f"loglines[{index}]", found) if isinstance(lines, list) else found
            yield quarantined(source, record.line, at)


def _event(raw: Any, line: int) -> Event:
    kind = kind_of(raw)
    if not kind:
        raise TraceError(Reason.NOT_AN_EVENT, f"a line without a type is no event: {raw!r:.80}", "type")
    if kind in ("user", "assistant"):
        message = raw.get("message")
        try:
            read_message(message, Conversation())
        except TraceError as fault:
            raise inside("message", fault) from fault
        if message["role"] != kind:
            raise TraceError(Reason.BAD_FIELD, f"role {message['role']!r:.40} in a {kind} event", "message.role")
    session, agent = (raw.get(key) for key in ("sessionId", "agentId"))
    lane = (str(session or ""), raw.get("isSidechain") is True, str(agent or ""))
    return Event(line, kind, raw, _text(raw.get("uuid")), _text(raw.get("parentUuid")), lane)


def _without_repeats(events: list[Event]) -> tuple[list[Event], int]:
    """Leave out lines that repeat a uuid together with its message; a uuid alone may return with another block."""
    seen: dict[str, deque[Any]] = {}
    kept: list[Event] = []
    for event in events:
        if event.uuid is not None:
            said = seen.setdefault(event.uuid, deque(maxlen=_BACK))
            if event.raw.get("message") in said:
                continue
            said.append(event.raw.get("message"))
        kept.append(event)
    return kept, len(events) - len(kept)


def _trace(branches: Branches, source: str, index: int, notes: JsonObject) -> Trace:
    talk = Conversation()
    compactions: list[int] = []
    for event, message in _merged(branches.kept):
        if event.raw.get("isCompactSummary") is True:
            compactions.append(len(talk.messages))
        trainable = _is_trainable(event)
        if event.kind == "assistant":
            talk.say(agent_message(message["content"], talk, trainable))
        else:
            read_message(message, talk, trainable)
    origin = _origin(branches, notes | ({"compactions": compactions} if compactions else {}))
    return build_trace(Record.at(branches.root.line, index), source, NAME, talk, origin)


def _merged(events: list[Event]) -> Iterator[tuple[Event, JsonObject]]:
    """Events with their messages; the blocks of one agent's message together, where the first of them stands."""
    blocks: dict[str, list[Any]] = {}
    for event in events:
        if event.message_id is not None:
            into = blocks.setdefault(event.message_id, [])
            into += [block for block in _blocks(event) if block not in into[-_BACK:]]
    for event in events:
        if event.message_id is None:
            yield event, event.raw["message"]
        elif (whole := blocks.pop(event.message_id, None)) is not None:
            yield event, {"content": whole}


def _blocks(event: Event) -> list[Any]:
    content = event.raw["message"]["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def _origin(branches: Branches, notes: JsonObject) -> Origin:
    root = branches.root
    session, side, agent = root.lane
    models = {m for e in branches.kept if (m := _text(e.raw["message"].get("model"))) is not None}
    found = {"session_id": session, "agent_id": agent, "sidechain": side, "models": sorted(models),
             "version": _text(root.raw.get("version"))}  # fmt: skip
    run = f"{session}\n{agent}\n{root.uuid}" if session and root.uuid else None
    metadata = notes | {key: value for key, value in found.items() if value}
    origin = Origin(run_id=run, started_at=moment(root.raw.get("timestamp")), metadata=metadata)
    spoken = [event for event in branches.kept if event.kind == "assistant"]
    if spoken and spoken[-1].raw.get("isApiErrorMessage") is True:
        origin.status, origin.error = TraceStatus.ERROR, _said(spoken[-1])
    elif spoken:
        origin.status = _ENDED.get(_text(spoken[-1].raw["message"].get("stop_reason")) or "", TraceStatus.UNKNOWN)
    return origin


def _is_trainable(event: Event) -> bool:
    raw = event.raw
    if event.lane[1] or any(raw.get(key) is True for key in ("isMeta", "isCompactSummary", "isApiErrorMessage")):
        return False
    return event.kind == "assistant" or not _said(event).lstrip().startswith(_NOT_THE_USER)


def _said(event: Event) -> str:
    texts = [block["text"] for block in _blocks(event) if kind_of(block) == "text"]
    return texts[0] if texts else ""


def _is_turn(row: JsonObject) -> bool:
    return kind_of(row) in ("user", "assistant") and isinstance(row.get("message"), dict)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
