"""LangSmith runs: one a line, in an array, in `{runs: [...]}`, with their children inside, or as they go over the wire.

On the wire a run comes twice, in `post` and, with its outputs, in `patch`; all that names one id is one run. Runs of a
trace sort by `dotted_order`. Feedback is kept by name in the scores.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Quarantined, Trace, TraceStatus
from pipeline.traces.conversation import inside
from pipeline.traces.preview import objects
from pipeline.traces.reading import FAULTS, fault_of, quarantined
from pipeline.traces.reasons import Reason
from pipeline.traces.spans.build import Run, build
from pipeline.traces.spans.gathering import read_gathered
from pipeline.traces.spans.langsmith_runs import run_span
from pipeline.traces.spans.spool import Gathered, Spool

NAME = "langsmith"
_WIRE = ("post", "patch", "runs")
_KEPT = ("session_name", "session_id", "tags", "reference_example_id", "start_time", "name", "feedback_stats")


def sniff(head: bytes) -> bool:
    """Whether some record near the start is a run, or holds runs."""
    return any(_is_run(run) for row in objects(head) for run in (_listed(row) or [row])[:8] if isinstance(run, dict))


def read(path: Path, source: str, max_bytes: int) -> Iterator[Trace | Quarantined]:
    """Yield the conversations of every trace, or why there are none. Raises OSError."""
    return read_gathered(path, source, max_bytes, _gather, _conversations)


def _is_run(row: JsonObject) -> bool:
    return "run_type" in row and ("inputs" in row or "dotted_order" in row or "trace_id" in row)


def _listed(row: JsonObject) -> list[Any]:
    return [run for key in _WIRE if isinstance(row.get(key), list) for run in row[key]]


def _gather(row: JsonObject, line: int, source: str, spool: Spool) -> Iterator[Quarantined]:
    lists = {key: row[key] for key in _WIRE if isinstance(row.get(key), list) and not _is_run(row)}
    waiting: list[tuple[str, Any]] = [
        (f"{key}[{at}]", run) for key, runs in lists.items() for at, run in enumerate(runs)
    ]
    if not waiting:
        waiting = [("", row)]
    for place, run in waiting:
        try:
            children = _keep(run, line, spool)
        except FAULTS as error:
            fault = fault_of(error)
            yield quarantined(source, line, inside(place, fault) if place else fault)
            continue
        inner = f"{place}{'.' if place else ''}child_runs"
        waiting += [(f"{inner}[{at}]", child) for at, child in enumerate(children)]


def _keep(run: Any, line: int, spool: Spool) -> list[Any]:
    """Keep a run without its children, and return these. Raises TraceError."""
    if not isinstance(run, dict):
        raise TraceError(Reason.NOT_AN_OBJECT, f"a run must be an object, found {run!r:.60}")
    order = run["dotted_order"] if isinstance(run.get("dotted_order"), str) else ""
    known = run.get("id") or order.rpartition(".")[2].partition("Z")[2]
    trace = run.get("trace_id") or order.partition(".")[0].partition("Z")[2] or known
    if not isinstance(known, str) or not isinstance(trace, str) or not known:
        seen = ", ".join(map(repr, run))
        raise TraceError(Reason.MISSING_FIELD, f"a run needs an id or a dotted_order; keys are {seen}"[:300], "id")
    children = run.get("child_runs")
    kept = {key: value for key, value in run.items() if key not in ("child_runs", "serialized", "manifest")}
    spool.add(trace, line, kept | {"id": known})
    return [_child(child, known, trace) for child in children] if isinstance(children, list) else []


def _child(child: Any, parent: str, trace: str) -> Any:
    return {"parent_run_id": parent, "trace_id": trace} | child if isinstance(child, dict) else child


def _conversations(gathered: Gathered, source: str) -> Iterator[Trace | Quarantined]:
    runs: dict[str, JsonObject] = {}
    lines: dict[str, int] = {}
    for line, piece in gathered.pieces:
        run = runs.setdefault(piece["id"], {})
        lines.setdefault(piece["id"], line)
        run |= {key: value for key, value in piece.items() if key not in run or value not in (None, {}, [], "")}
    spans = [run_span(run, lines[known], at) for at, (known, run) in enumerate(runs.items())]
    root = next((run for run in runs.values() if not run.get("parent_run_id")), next(iter(runs.values())))
    yield from build(_run(root, gathered), spans, source, NAME)


def _run(root: JsonObject, gathered: Gathered) -> Run:
    found = Run(gathered.trace_id, gathered.line, gathered.ordinal)
    extra = root.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    found.named = dict(metadata) if isinstance(metadata, dict) else {}
    if isinstance(root.get("reference_example_id"), str):  # the tries of one example of a data set
        found.named.setdefault("task_id", root["reference_example_id"])
        found.named.setdefault("trial", root["id"])
    found.metadata = {key: root[key] for key in _KEPT if root.get(key)}
    if isinstance(metadata, dict) and metadata:
        found.metadata["metadata"] = metadata
    error = root.get("error")
    found.error = error if isinstance(error, str) and error else None
    if found.error is None and (root.get("status") == "success" or (root.get("end_time") and root.get("outputs"))):
        found.status = TraceStatus.OK
    _feedback(root.get("feedback_stats"), found)
    return found


def _feedback(stats: Any, run: Run) -> None:
    """LangSmith keeps a mean and a number a name; with more than one it is its mean, and the metadata says so."""
    averaged: JsonObject = {}
    for name, each in stats.items() if isinstance(stats, dict) else ():
        mean = each.get("avg") if isinstance(each, dict) else None
        if isinstance(mean, int | float) and math.isfinite(mean):
            run.scores[name] = float(mean)
            if each.get("n") not in (1, None):
                averaged[name] = each["n"]
    if averaged:
        run.metadata["averaged_scores"] = averaged
