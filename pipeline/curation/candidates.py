"""Traces and demonstrations in one shape: what might be imitated."""

import hashlib
import re
from dataclasses import dataclass

from pipeline.records import Demo, JsonObject, Message, Trace, TraceStatus
from pipeline.rows import Row, messages_to_json, tools_to_json
from pipeline.tables import dumps

TRACES, DEMOS = "traces", "demos"
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that might be imitated; `outcome` None is not known."""

    origin: str
    """TRACES or DEMOS."""
    source_id: str
    format: str
    task_ids: tuple[str, ...]
    """Names of the task or group that it belongs to; equal names mean the same task."""
    messages: tuple[Message, ...]
    tools: tuple[JsonObject, ...]
    harness_hash: str
    outcome: float | None
    status: TraceStatus

    @property
    def questions(self) -> tuple[str, ...]:
        """What the user said, message by message, in lower case with single spaces."""
        said = (message.content for message in self.messages if message.role == "user" and message.content)
        return tuple(plain(text) for text in said)


def from_trace(trace: Trace) -> Candidate:
    """A candidate of a trace."""
    named = trace.metadata.get("task_id")
    ids = [trace.group_id] if trace.group_id is not None else []
    ids += [str(named)] if named is not None and str(named) not in ids else []
    return Candidate(
        TRACES, trace.trace_id, trace.format, tuple(ids), trace.messages, trace.tools, trace.harness_hash,
        trace.reward, trace.status,
    )  # fmt: skip


def from_demo(demo: Demo) -> Candidate:
    """A candidate of a demonstration."""
    return Candidate(
        DEMOS, demo.task_id, demo.author, (demo.task_id,), demo.messages, demo.tools, demo.harness_hash, demo.outcome,
        TraceStatus.OK,
    )  # fmt: skip


def sft_row(candidate: Candidate, part: str) -> Row:
    """A row of `records.SFT_ROWS`; `part` is train or valid."""
    messages = messages_to_json(candidate.messages)
    identity = dumps([candidate.origin, candidate.source_id, messages])
    return {
        "row_id": hashlib.sha256(identity.encode()).hexdigest()[:16], "origin": candidate.origin,
        "source_id": candidate.source_id, "part": part, "messages": messages,
        "tools": tools_to_json(candidate.tools),
    }  # fmt: skip


def plain(text: str) -> str:
    """Text in lower case with single spaces, for comparing questions."""
    return _SPACE.sub(" ", text).strip().casefold()
