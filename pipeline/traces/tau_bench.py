"""tau-bench results: an array of `{task_id, trial, reward, info, traj: [chat messages]}`.

The tries of one task in one file are a group. A run that crashed is written with reward 0.0, an empty trajectory and
`info.error`: it is an error without a reward, not a zero. Tools are not stored.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Quarantined, Trace, TraceStatus
from pipeline.traces.framing import Record
from pipeline.traces.openai_chat import read_messages
from pipeline.traces.origin import Origin, build_trace, identifier, number
from pipeline.traces.preview import objects
from pipeline.traces.reading import read_rows
from pipeline.traces.reasons import Reason

NAME = "tau_bench"


def sniff(head: bytes) -> bool:
    """Whether some record near the start is a scored trajectory."""
    return any("traj" in row and "task_id" in row for row in objects(head))


def read(path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield a trace or a quarantine row for every record. Raises OSError."""
    return read_rows(path, source, max_bytes, _parse)


def _parse(row: JsonObject, record: Record, source: str) -> list[Trace | Quarantined]:
    for key in ("task_id", "traj"):
        if row.get(key) is None:
            raise TraceError(Reason.MISSING_FIELD, f"no {key}; keys are {', '.join(map(repr, row))}"[:300], key)
    talk = read_messages(row["traj"], "traj")
    info = row.get("info")
    error = _error(info, bool(talk.messages))
    origin = Origin(
        task_id=identifier(row["task_id"], "task_id"),
        try_id=identifier(row.get("trial"), "trial"),
        reward=number(row.get("reward"), "reward"),
        status=TraceStatus.OK if error is None else TraceStatus.ERROR,
        error=error,
        metadata={key: value for key, value in row.items() if key != "traj"},
    )
    return [build_trace(record, source, NAME, talk, origin)]


def _error(info: Any, spoke: bool) -> str | None:
    found = info.get("error") if isinstance(info, dict) else None
    if found is not None:
        return found if isinstance(found, str) else str(found)
    return None if spoke else "the trajectory is empty and no error is recorded"
