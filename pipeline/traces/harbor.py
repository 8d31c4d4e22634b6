"""A trial folder of Harbor: the agent's trajectory, and beside it the task, the rewards and the exception.

`result.json` and `verifier/reward.txt` or `reward.json` are joined to the trajectory of the agent named there. Where
there is an ATIF trajectory, all other files of the trial are notes on the same run (logs, prompts, the agent's own
session files) and are only named in the trace's metadata; where there is none, each is read for what it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Quarantined, Trace, TraceStatus
from pipeline.traces import atif, atif_parts
from pipeline.traces.conversation import Conversation
from pipeline.traces.folder import Found, peek, read_file, side_value
from pipeline.traces.framing import Record
from pipeline.traces.origin import Origin, build_trace, trace_id_of
from pipeline.traces.preview import HEAD_BYTES
from pipeline.traces.reading import quarantined
from pipeline.traces.reasons import Reason
from pipeline.traces.scores import flat_scores

_BESIDE = ("result.json", "config.json", "trial.log", "exception.txt", "verifier/")
_LIMITS = ("AgentTimeoutError", "ContextLengthExceededError", "OutputLengthExceededError")
"""Exceptions that end the agent's own doing; its reward counts."""
_KEPT = ("id", "trial_name", "task_name", "source", "task_checksum", "agent_info", "started_at", "finished_at")


@dataclass(slots=True)
class _Notes:
    """What the side files say of the trial."""

    result: JsonObject = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    faults: list[Quarantined] = field(default_factory=list)
    is_trial: bool = True


def read_trial(folder: str, files: Sequence[Found], max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield the agent's run with what is known of it, then its sub-agents and whatever could not be read."""
    notes = _notes(folder, files, max_bytes)
    if not notes.is_trial:
        for source, path in files:
            yield from read_file(path, source, max_bytes)
        return
    rest = [found for found in files if not found[0][len(folder) :].startswith(_BESIDE)]
    told = [found for found in rest if atif.sniff(peek(found[1], HEAD_BYTES))]
    items = list(atif_parts.join(i for source, path in told or rest for i in read_file(path, source, max_bytes)))
    if told and not any(isinstance(item, Trace) for item in items):  # the trajectory is broken: the others may be runs
        others = [found for found in rest if found not in told]
        items += [item for source, path in others for item in read_file(path, source, max_bytes)]
    yield from notes.faults
    main = _main(items, notes.result)
    if main is None:
        yield from items
        yield from _without_run(folder, files, items, notes)
        return
    sources = {item.source for item in items if not _is_unknown(item)}
    yield _with_notes(main, folder, notes, [source for source, _ in files if source not in sources])
    yield from (item for item in items if item is not main and not _is_unknown(item))


def _notes(folder: str, files: Sequence[Found], max_bytes: int) -> _Notes:
    notes, places = _Notes(), {source[len(folder) :]: (source, path) for source, path in files}
    if (found := places.get("result.json")) is not None:
        result = _value(found, max_bytes, notes)
        notes.result = result if isinstance(result, dict) else {}
        notes.is_trial = bool(notes.faults) or not notes.result.keys().isdisjoint(("trial_name", "verifier_result"))
    verdict = notes.result.get("verifier_result")
    notes.scores = flat_scores("", verdict.get("rewards") if isinstance(verdict, dict) else None)
    for name in ("verifier/reward.json", "verifier/reward.txt"):
        if not notes.scores and (found := places.get(name)) is not None:
            value = _value(found, max_bytes, notes)
            notes.scores = flat_scores("", value if isinstance(value, dict) else {"reward": value})
    return notes


def _value(found: Found, max_bytes: int, notes: _Notes) -> Any:
    """The JSON value of a side file; None, and the fault noted, when it cannot be read."""
    try:
        return side_value(found[1], max_bytes)
    except TraceError as fault:
        notes.faults.append(quarantined(found[0], 1, fault))
        return None


def _is_unknown(item: Trace | Quarantined) -> bool:
    return isinstance(item, Quarantined) and item.reason == Reason.UNKNOWN_FORMAT


def _main(items: list[Trace | Quarantined], result: JsonObject) -> Trace | None:
    """The run that the rewards are about: that of the agent named in the result, else the first."""
    runs = [item for item in items if isinstance(item, Trace) and "subagent" not in item.metadata]
    info = result.get("agent_info")
    name = info.get("name") if isinstance(info, dict) else None
    named = (
        run for run in runs if isinstance(run.metadata.get("agent"), dict) and run.metadata["agent"].get("name") == name
    )
    return next(named, runs[0] if runs else None)


def _without_run(
    folder: str, files: Sequence[Found], items: list[Trace | Quarantined], notes: _Notes
) -> Iterator[Trace | Quarantined]:
    """A trial that failed before its agent left anything is an error without a reward."""
    source = files[0][0]
    if _status(notes)[0] is TraceStatus.ERROR:
        origin = Origin(status=TraceStatus.ERROR, error=_status(notes)[1])
        trace = build_trace(Record.at(1, 0), source, atif.NAME, Conversation(), origin)
        yield _with_notes(trace, folder, notes, [name for name, _ in files])
    elif not items and not notes.faults:
        yield quarantined(source, 1, TraceError(Reason.MISSING_FIELD, "the trial folder holds no trajectory", "agent"))


def _with_notes(trace: Trace, folder: str, notes: _Notes, beside: list[str]) -> Trace:
    status, error = _status(notes)
    status = trace.status if status is TraceStatus.UNKNOWN else status
    task, trial = (_text(notes.result.get(key)) for key in ("task_name", "trial_name"))
    identity = f"try\nharbor\n{task}\n{trial}" if task and trial else trace.identity
    reward = next(iter(notes.scores.values())) if len(notes.scores) == 1 else None
    about = {key: notes.result[key] for key in _KEPT if notes.result.get(key) is not None}
    return replace(
        trace,
        trace_id=trace_id_of(identity, error, trace.harness_hash, trace.messages),
        identity=identity,
        group_id=f"{folder.rstrip('/').rpartition('/')[0]}#{task}{_by(notes.result)}" if task else None,
        try_id=trial or folder.rstrip("/").rpartition("/")[2] or None,
        scores=trace.scores | notes.scores,
        reward=None if status is TraceStatus.ERROR else reward,
        status=status,
        error=error,
        metadata=trace.metadata | ({"trial": about} if about else {}) | {"side_files": beside},
    )


def _by(result: JsonObject) -> str:
    """One job may run several agents; their tries of a task are not one group."""
    info = result.get("agent_info")
    model = info.get("model_info") if isinstance(info, dict) else None
    names = (info.get("name"), model.get("name") if isinstance(model, dict) else None) if isinstance(info, dict) else ()
    known = [name for name in names if isinstance(name, str)]
    return f" by {' '.join(known)}" if known else ""


def _status(notes: _Notes) -> tuple[TraceStatus, str | None]:
    raised = notes.result.get("exception_info")
    if not isinstance(raised, dict):
        return (TraceStatus.OK if notes.scores else TraceStatus.UNKNOWN), None
    kind, message = _text(raised.get("exception_type")) or "exception", _text(raised.get("exception_message"))
    if kind in _LIMITS:
        return TraceStatus.TRUNCATED, None
    return TraceStatus.ERROR, f"{kind}: {message}" if message else kind


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
