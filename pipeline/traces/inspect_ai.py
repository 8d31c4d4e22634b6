"""Logs of Inspect: one JSON object with `eval` and `samples`, or an `.eval` archive with an entry a sample.

The epochs of a sample are tries of one task. Each scorer's value is a score; which of them is the reward the user says.
A sample that broke is an error, one that met a limit is truncated; a log that was never finished says so in
`metadata.log_status`.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Quarantined, Trace, TraceStatus
from pipeline.traces.conversation import inside
from pipeline.traces.decode import decode
from pipeline.traces.eval_archive import MAGIC, Archive
from pipeline.traces.framing import Record, records
from pipeline.traces.inspect_messages import read_sample
from pipeline.traces.origin import Origin, build_trace, identifier
from pipeline.traces.preview import objects
from pipeline.traces.reading import FAULTS, fault_of, part_of, quarantined, row_object
from pipeline.traces.reasons import Reason
from pipeline.traces.scores import flat_scores
from pipeline.traces.times import moment

NAME = "inspect_ai"
_WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partial, incorrect, no answer: as the program itself counts them."""
_KEPT = ("target", "choices", "metadata", "scores", "score", "limit", "total_time", "working_time", "uuid")
_SAMPLE = re.compile(r"samples/.*_epoch_\d+(\.json|/sample\.json)", re.DOTALL)
_ENTRIES = (b"_journal/start.json", b"header.json", b"samples/")


def sniff(head: bytes) -> bool:
    """Whether the file is a log, or an archive with the entries of one."""
    if head.startswith(MAGIC):
        return any(entry in head for entry in _ENTRIES)
    return any(isinstance(row.get("eval"), dict) and _knows_status(row) for row in objects(head))


def read(path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield a trace or a quarantine row for every sample; of an archive, `line` counts samples. Raises OSError."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) == MAGIC:
            yield from _archived(Archive(file, os.fstat(file.fileno()).st_size, max_bytes), source)
            return
    for record in records(path, max_bytes):
        try:
            yield from _log(row_object(record), record, source)
        except TraceError as fault:
            yield quarantined(source, record.line, fault)


def _log(row: JsonObject, record: Record, source: str) -> Iterator[Trace | Quarantined]:
    samples = row.get("samples")
    if not isinstance(samples, list) or not samples:
        reason = f"a log without samples; its status is {row.get('status')!r:.40}"
        raise TraceError(Reason.MISSING_FIELD, reason, "samples")
    for index, sample in enumerate(samples):
        place = f"samples[{index}]"
        try:
            yield _trace(sample, row, part_of(record, place, index), source)
        except FAULTS as error:
            yield quarantined(source, record.line, inside(place, fault_of(error)))


def _archived(archive: Archive, source: str) -> Iterator[Trace | Quarantined]:
    names = archive.names()
    header, fault = _header(archive, names)
    if fault is not None:
        yield quarantined(source, 1, fault)
    samples = [name for name in names if _SAMPLE.fullmatch(name)]
    if not samples and fault is None:
        reason = f"a log without samples; its status is {header.get('status')!r:.40}"
        yield quarantined(source, 1, TraceError(Reason.MISSING_FIELD, reason, "samples"))
    for index, name in enumerate(samples):
        try:
            value, repairs = decode(_entry(archive, name))
            yield _trace(value, header, Record(index + 1, index, value, repairs, None), source)
        except FAULTS as error:
            yield quarantined(source, index + 1, inside(name, fault_of(error)))


def _entry(archive: Archive, name: str) -> bytes:
    if name.endswith("/sample.json"):
        reason = "a sample in chunks (log version 3); have Inspect write the log as version 2"
        raise TraceError(Reason.BAD_FIELD, reason)
    return archive.read(name)


def _header(archive: Archive, names: list[str]) -> tuple[JsonObject, TraceError | None]:
    """What the samples have in common; of a log that was never finished, what is known of its start."""
    name = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
    if name is None:
        return {}, None
    try:
        value = decode(archive.read(name))[0]
    except TraceError as fault:
        return {}, inside(name, fault)
    return {"status": "started"} | value if isinstance(value, dict) else {}, None


def _trace(sample: Any, log: JsonObject, record: Record, source: str) -> Trace:
    if not isinstance(sample, dict):
        raise TraceError(Reason.NOT_AN_OBJECT, f"a sample must be an object, found {sample!r:.60}")
    about = log.get("eval") if isinstance(log.get("eval"), dict) else {}
    assert isinstance(about, dict)
    talk, tools = read_sample(sample)
    return build_trace(record, source, NAME, talk, _origin(sample, about, log.get("status")), tools)


def _origin(sample: JsonObject, about: JsonObject, log_status: Any) -> Origin:
    status, error = _status(sample, log_status)
    task, epoch = identifier(sample.get("id"), "id"), identifier(sample.get("epoch"), "epoch")
    started = moment(sample.get("started_at"))
    found = {key: sample[key] for key in _KEPT if sample.get(key) is not None}
    found |= {"task": about.get("task"), "model": about.get("model"), "log_status": log_status}
    return Origin(
        task_id=task,
        try_id=epoch,
        run_id=_run(sample, about, task, epoch),
        status=status,
        error=error,
        scores=_scores(sample),
        started_at=started if started is not None else moment(about.get("created")),
        metadata={key: value for key, value in found.items() if value is not None},
    )


def _run(sample: JsonObject, about: JsonObject, task: str | None, epoch: str | None) -> str | None:
    """A sample has an id of its own in newer logs; in older ones the run has, and the sample its number."""
    if isinstance(sample.get("uuid"), str):
        return f"inspect\n{sample['uuid']}"
    run = about.get("eval_id") or about.get("run_id")
    return f"inspect\n{run}\n{task}\n{epoch}" if isinstance(run, str) and run else None


def _scores(sample: JsonObject) -> dict[str, float]:
    several, one = sample.get("scores"), sample.get("score")
    found = dict(several) if isinstance(several, dict) else {}
    if isinstance(one, dict):
        found.setdefault("score", one)
    scores: dict[str, float] = {}
    for name, score in found.items():
        scores |= flat_scores(name, score.get("value") if isinstance(score, dict) else None, _WORDS)
    return scores


def _status(sample: JsonObject, log_status: Any) -> tuple[TraceStatus, str | None]:
    error = sample.get("error")
    if error:
        message = error.get("message") if isinstance(error, dict) else error
        return TraceStatus.ERROR, str(message)
    output = sample.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    last = choices[0] if isinstance(choices, list) and choices else None
    stopped = last.get("stop_reason") if isinstance(last, dict) else None
    if sample.get("limit") or stopped in ("max_tokens", "model_length"):
        return TraceStatus.TRUNCATED, None
    return (TraceStatus.OK if log_status == "success" else TraceStatus.UNKNOWN), None


def _knows_status(row: JsonObject) -> bool:
    return isinstance(row.get("status"), str) and not row.keys().isdisjoint(("plan", "version", "results", "samples"))
