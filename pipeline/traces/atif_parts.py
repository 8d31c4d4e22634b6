"""ATIF trajectories that go on in another file: the parts of a session become one trace.

A part says that it is continued, or starts with context copied from the part before; the session they share and their
order tell which belong together. Where that leaves a doubt, each part stays a trace of its own.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

from pipeline.records import JsonObject, Quarantined, Trace
from pipeline.traces import atif
from pipeline.traces.origin import trace_id_of

_COUNTS = ("unanswered_calls", "unmatched_results", "step_results", "left_out_media", "copied_steps", "subagent_refs",
           "unreadable_arguments", "steps_with_token_ids", "lone_surrogates")  # fmt: skip


def join(items: Iterable[Trace | Quarantined]) -> Iterator[Trace | Quarantined]:
    """The items, with the parts of a session in one trace; parts come last."""
    sessions: dict[tuple[str, str], list[Trace]] = {}
    for item in items:
        if isinstance(item, Trace) and (session := _session(item)) is not None:
            sessions.setdefault(session, []).append(item)
        else:
            yield item
    for parts in sessions.values():
        yield from _joined(parts)


def _session(trace: Trace) -> tuple[str, str] | None:
    """Which session a part belongs to; None for a trajectory that is whole."""
    session = trace.metadata.get("session_id")
    if trace.format != atif.NAME or not isinstance(session, str) or "subagent" in trace.metadata:
        return None
    return (session, _name(trace)) if _is_continued(trace) or _continues(trace) else None


def _name(trace: Trace) -> str:
    name = trace.metadata["agent"].get("name")
    return name if isinstance(name, str) else ""


def _is_continued(trace: Trace) -> bool:
    return isinstance(trace.metadata.get("continued_trajectory_ref"), str)


def _continues(trace: Trace) -> bool:
    return bool(trace.messages) and not trace.messages[0].trainable


def _rank(trace: Trace) -> float:
    """The place of a part in its session: by its number, where it has one."""
    extra = trace.metadata["agent"].get("extra")
    index = extra.get("continuation_index") if isinstance(extra, dict) else None
    if isinstance(index, int | float) and index > 0:
        return index
    return 0 if not _continues(trace) else 1 if _is_continued(trace) else math.inf


def _joined(parts: list[Trace]) -> list[Trace]:
    chain = sorted(parts, key=_rank)
    ranks = [_rank(part) for part in chain]
    certain = ranks[0] == 0 and all(a < b for a, b in pairwise(ranks)) and all(map(_is_continued, chain[:-1]))
    return [_one(chain)] if certain and len(chain) > 1 else parts


def _one(chain: list[Trace]) -> Trace:
    first, last = chain[0], chain[-1]
    messages = tuple(message for part in chain for message in part.messages)
    starts = list(accumulate(len(part.messages) for part in chain[:-1]))
    metadata: JsonObject = first.metadata | {"parts": [part.source for part in chain], "compactions": starts}
    metadata |= {key: total for key in _COUNTS if (total := sum(_count(part, key) for part in chain))}
    if "final_metrics" in last.metadata:
        metadata["final_metrics"] = last.metadata["final_metrics"]  # they count from the start of the session
    metadata.pop("continued_trajectory_ref", None)
    trace_id = trace_id_of(first.identity, None, first.harness_hash, messages)
    return replace(first, trace_id=trace_id, messages=messages, metadata=metadata)


def _count(part: Trace, key: str) -> int:
    value: Any = part.metadata.get(key)
    return value if isinstance(value, int) else 0
