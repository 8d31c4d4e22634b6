"""What became of every candidate, counted."""

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.cases import REWARD, components
from pipeline.curation.candidates import TRACES
from pipeline.curation.parts import Part
from pipeline.rows import Row

_SHOWN = 12
"""Names of scores in one remark, the most frequent first."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One candidate without its conversation: what stands about it in data/curate.parquet, and its task's names."""

    row: Row
    """A row of `records.CURATED`."""
    keys: tuple[str, ...]
    """Candidates that share one are of one task."""
    agent_tokens: int
    copies: int
    """Rows that it becomes; 0 where it is not imitated."""
    end: int | None
    """Messages that are imitated; None means all."""
    started_at: float | None


def summarise(judged: Sequence[Judged], parts: Sequence[Part]) -> dict[str, Any]:
    """Counts as metrics/curate.json holds them; `parts` are those of the candidates that are imitated, in order.

    `kept` counts candidates, `rows` and tokens what they become by their weights.
    """
    kept = [one for one in judged if one.copies]
    tokens = [one.row["tokens"] for one in kept]
    rows = Counter[str]()
    for one, part in zip(kept, parts, strict=True):
        rows[part] += one.copies
    return {
        "came": len(judged),
        "kept": len(kept),
        "cut": sum(one.end is not None for one in kept),
        "rows": rows.total(),
        "train": rows["train"],
        "valid": rows["valid"],
        "tasks": len(set(components([one.keys for one in kept]))),
        "tokens": sum(count * one.copies for one, count in zip(kept, tokens, strict=True)),
        "agent_tokens": sum(one.agent_tokens * one.copies for one in kept),
        "longest": max(tokens),
        "dropped": dict(sorted(Counter(one.row["reason"] for one in judged if not one.copies).items())),
        "by_origin": _reasons_by(judged, "origin"),
        "by_format": _reasons_by(judged, "format"),
    }


def unknown_success(name: str, judged: Sequence[Judged], scores: Iterable[str]) -> str | None:
    """What to say when no trace carries the score that success goes by, most often because it is misspelt.

    `scores` are the names of the scores of all traces, read only then.
    """
    outcomes = [one.row["outcome"] for one in judged if one.row["origin"] == TRACES]
    if name == REWARD or not outcomes or any(value is not None for value in outcomes):
        return None
    seen = Counter(scores)
    close = difflib.get_close_matches(name, seen, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    known = ", ".join(f"{score!r} {count}" for score, count in seen.most_common(_SHOWN)) or "none"
    return f"no trace carries the score {name!r} of curate.success{hint}; seen: {known}"


def _reasons_by(judged: Sequence[Judged], column: str) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in judged:
        counts[one.row[column]][one.row["reason"]] += 1
    return {name: dict(sorted(reasons.items())) for name, reasons in sorted(counts.items())}
