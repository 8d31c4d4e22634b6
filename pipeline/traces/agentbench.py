"""AgentBench: `runs.jsonl` and `error.jsonl`, `{index, error, info, output: {status, result, history}}`, and prompts.

How a run ended stands beside its result: limits cut it, a task error broke it, an invalid action is the agent's own
doing. Numbers and truth values of the result are scores. A prompt file maps names to lists of messages, in which the
agent's role is `agent`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Quarantined, Trace, TraceStatus
from pipeline.traces.conversation import Conversation, inside
from pipeline.traces.framing import Record
from pipeline.traces.openai_chat import read_messages
from pipeline.traces.origin import Origin, build_trace, identifier
from pipeline.traces.preview import objects
from pipeline.traces.reading import FAULTS, fault_of, missing, quarantined, read_rows
from pipeline.traces.reasons import Reason
from pipeline.traces.scores import flat_scores

NAME = "agentbench"
_STATUS = {
    "completed": TraceStatus.OK,
    "agent validation failed": TraceStatus.OK,
    "agent invalid action": TraceStatus.OK,
    "agent context limit": TraceStatus.TRUNCATED,
    "task limit reached": TraceStatus.TRUNCATED,
    "task error": TraceStatus.ERROR,
    "cancelled": TraceStatus.ERROR,
    "running": TraceStatus.ERROR,
}


def sniff(head: bytes) -> bool:
    """Whether some record near the start is a run with its output, or a set of prompts."""
    return any(_is_run(row) or any(map(_is_prompt, row.values())) for row in objects(head))


def read(path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield a trace or a quarantine row for every record. Raises OSError."""
    return read_rows(path, source, max_bytes, _parse)


def _parse(row: JsonObject, record: Record, source: str) -> list[Trace | Quarantined]:
    if _is_run(row):
        return [_run(row, record, source)]
    prompts = {key: value for key, value in row.items() if _is_prompt(value)}
    if not prompts:
        raise missing("output", row)
    return [_prompt(key, value, record, source) for key, value in prompts.items()]


def _run(row: JsonObject, record: Record, source: str) -> Trace:
    output = row["output"] or {}
    if not isinstance(output, dict):
        raise TraceError(Reason.BAD_FIELD, f"output must be an object, found {output!r:.60}", "output")
    origin = Origin(
        task_id=identifier(row["index"], "index"),
        scores=flat_scores("", result if isinstance(result := output.get("result"), dict) else {"result": result}),
        metadata={key: value for key, value in row.items() if key != "output" and value is not None},
    )
    origin.metadata |= {key: value for key, value in output.items() if key != "history" and value is not None}
    origin.status, origin.error = _ending(row, output)
    return build_trace(record, source, NAME, _talk(output.get("history"), "output.history"), origin)


def _ending(row: JsonObject, output: JsonObject) -> tuple[TraceStatus, str | None]:
    if (error := row.get("error")) is not None:
        info = row.get("info")
        return TraceStatus.ERROR, f"{error}: {info}" if info else str(error)
    word = output.get("status")
    status = _STATUS.get(word, TraceStatus.UNKNOWN) if isinstance(word, str) else TraceStatus.UNKNOWN
    return status, word if status is TraceStatus.ERROR else None


def _prompt(key: str, messages: Any, record: Record, source: str) -> Trace | Quarantined:
    try:
        return build_trace(record, source, NAME, _talk(messages, key), Origin(metadata={"prompt": key}))
    except FAULTS as error:
        fault = fault_of(error)
        return quarantined(source, record.line, fault if fault.field != "messages" else inside(key, fault))


def _talk(history: Any, field: str) -> Conversation:
    """Messages of a history; the agent's role has a name of its own."""
    if not isinstance(history, list):
        return read_messages([] if history is None else history, field)
    return read_messages([_renamed(message) for message in history], field)


def _renamed(message: Any) -> Any:
    is_agent = isinstance(message, dict) and message.get("role") == "agent"
    return {**message, "role": "assistant"} if is_agent else message


def _is_run(row: JsonObject) -> bool:
    return {"index", "output", "error"} <= row.keys() and isinstance(row["output"], dict | None)


def _is_prompt(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, dict) and each.get("role") == "agent" for each in value)
