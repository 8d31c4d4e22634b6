"""Stage curate: choose what is imitated from traces and demonstrations; nothing that touches valid or eval.

The candidates are read twice: once to judge each, once to write the rows that stay, so that memory holds verdicts and
not conversations. Every candidate stands in data/curate.parquet with its reason.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.curation.candidates import Candidate, from_demo, from_trace, sft_row
from pipeline.curation.choose import Chooser, Verdict
from pipeline.curation.heldout import HeldOut
from pipeline.curation.parts import Part, components, split_parts
from pipeline.curation.reasons import REMEDIES, Reason
from pipeline.environments.worlds import load_worlds
from pipeline.errors import EmptyOutputError
from pipeline.harness_hash import harness_hash
from pipeline.params import Params
from pipeline.records import CURATED, DEMOS, SFT_ROWS, TASKS, TRACES
from pipeline.rollouts.harnesses import Harnesses
from pipeline.rows import Row, demo_from_row, task_from_row, trace_from_row
from pipeline.stages.common import Progress, stage_main
from pipeline.tables import read_parquet, write_json, write_parquet
from pipeline.tracking import Run
from pipeline.training.loading import load_tokenizer

TRACE_FILE, DEMO_FILE = Path("data/traces/traces.parquet"), Path("data/demos.parquet")
HELD_OUT_FILES = (Path("data/tasks/valid.parquet"), Path("data/tasks/eval.parquet"))
OUT, REPORT = Path("data/sft.parquet"), Path("data/curate.parquet")
BASE = Path("models/base")


@dataclass(frozen=True, slots=True)
class Judged:
    """One candidate without its conversation: what stands about it in data/curate.parquet, and its task's names."""

    row: Row
    keys: tuple[str, ...]
    agent_tokens: int

    @property
    def kept(self) -> bool:
        """Whether it is imitated."""
        return bool(self.row["reason"] == Reason.KEPT)


def body(params: Params, run: Run) -> None:
    """Write data/sft.parquet, data/curate.parquet and metrics/curate.json."""
    judged = judge_all(params)
    kept = [one for one in judged if one.kept]
    if not kept:
        raise EmptyOutputError(_nothing_kept(judged))
    parts = split_parts([one.keys for one in kept], params.curate.valid_share, params.seed)
    write_parquet(OUT, _rows(judged, parts), SFT_ROWS)
    write_parquet(REPORT, (one.row for one in judged), CURATED)
    metrics = summarise(judged, parts)
    write_json(Path("metrics/curate.json"), metrics)
    run.log_metrics({name: float(value) for name, value in metrics.items() if isinstance(value, int | float)})
    left_out = _said(judged) or "none"
    print(f"curate     {metrics['rows']} of {metrics['came']} imitated; left out: {left_out}", flush=True)


def candidates() -> Iterator[Candidate]:
    """Traces, then demonstrations, in the order of their tables."""
    for row in read_parquet(TRACE_FILE, TRACES):
        yield from_trace(trace_from_row(row))
    for row in read_parquet(DEMO_FILE, DEMOS):
        yield from_demo(demo_from_row(row))


def judge_all(params: Params) -> list[Judged]:
    """Every candidate with its verdict, in order."""
    held_out = HeldOut(task_from_row(row) for path in HELD_OUT_FILES for row in read_parquet(path, TASKS))
    own = frozenset(harness_hash(world.tools) for world in load_worlds(params.environments).values())
    chooser = Chooser(params.curate, own, held_out, Harnesses(load_tokenizer(BASE)).encode)
    count = sum(1 for path, schema in ((TRACE_FILE, TRACES), (DEMO_FILE, DEMOS)) for _ in read_parquet(path, schema))
    progress = Progress("curate", count)
    judged = []
    for done, candidate in enumerate(candidates(), 1):
        judged.append(_judged(candidate, chooser.judge(candidate)))
        progress(done, "judging traces and demonstrations")
    return judged


def summarise(judged: Sequence[Judged], parts: Sequence[Part]) -> dict[str, Any]:
    """Counts by reason, origin and format as metrics/curate.json holds them."""
    kept = [one for one in judged if one.kept]
    tokens = [one.row["tokens"] for one in kept]
    return {
        "came": len(judged),
        "rows": len(kept),
        "train": parts.count("train"),
        "valid": parts.count("valid"),
        "tasks": len(set(components([one.keys for one in kept]))),
        "tokens": sum(tokens),
        "agent_tokens": sum(one.agent_tokens for one in kept),
        "longest": max(tokens),
        "dropped": dict(sorted(Counter(one.row["reason"] for one in judged if not one.kept).items())),
        "by_origin": _reasons_by(judged, "origin"),
        "by_format": _reasons_by(judged, "format"),
    }


def _judged(candidate: Candidate, verdict: Verdict) -> Judged:
    row = {
        "source_id": candidate.source_id, "origin": candidate.origin, "format": candidate.format,
        "reason": verdict.reason.value, "outcome": candidate.outcome, "tokens": verdict.tokens,
        "detail": verdict.detail,
    }  # fmt: skip
    keys = (*(f"task {name}" for name in candidate.task_ids), *(f"asks {text}" for text in candidate.questions[:1]))
    return Judged(row, keys, verdict.agent_tokens or 0)


def _rows(judged: Sequence[Judged], parts: Sequence[Part]) -> Iterator[Row]:
    part = iter(parts)
    for one, candidate in zip(judged, candidates(), strict=True):
        if one.kept:
            yield sft_row(candidate, next(part))


def _reasons_by(judged: Sequence[Judged], column: str) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in judged:
        counts[one.row[column]][one.row["reason"]] += 1
    return {name: dict(sorted(reasons.items())) for name, reasons in sorted(counts.items())}


def _said(judged: Sequence[Judged]) -> str:
    counts = Counter(one.row["reason"] for one in judged if not one.kept).most_common()
    return ", ".join(f"{count} {reason}" for reason, count in counts)


def _nothing_kept(judged: Sequence[Judged]) -> str:
    if not judged:
        return f"{TRACE_FILE} and {DEMO_FILE} hold nothing; put traces under data/raw or raise synthesize.demos"
    most = Counter(one.row["reason"] for one in judged).most_common(1)[0][0]
    detail = next((one.row["detail"] for one in judged if one.row["detail"]), None)
    why = f"none of {len(judged)} traces and demonstrations can be imitated ({_said(judged)}); {REMEDIES[Reason(most)]}"
    return f"{why} (first refusal: {detail})" if detail else why


if __name__ == "__main__":
    stage_main("curate", body)
