"""Stage curate: choose what is imitated from traces and demonstrations; nothing that touches valid or eval.

The candidates are read twice: once to judge each, once to write the rows that stay, so that memory holds verdicts and
not conversations. Every candidate stands in data/curate.parquet with its reason.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pipeline.curation.account import Judged, summarise, unknown_success
from pipeline.curation.candidates import Candidate, Tools, from_demo, from_trace, seen_tools, sft_row
from pipeline.curation.choose import Chooser, Verdict
from pipeline.curation.heldout import HeldOut
from pipeline.curation.mixture import check_names
from pipeline.curation.parts import Part, split_parts
from pipeline.curation.reasons import REMEDIES, Reason
from pipeline.environments.pivot_task import tools_of
from pipeline.environments.worlds import load_worlds
from pipeline.errors import EmptyOutputError
from pipeline.harness_hash import harness_hash
from pipeline.params import Params
from pipeline.records import CURATED, DEMOS, SFT_ROWS, TASKS, TRACES, Task
from pipeline.rollouts.harnesses import Harnesses
from pipeline.rows import Row, demo_from_row, task_from_row, trace_from_row
from pipeline.stages.common import Progress, stage_main
from pipeline.tables import loads, read_parquet, write_json, write_parquet
from pipeline.tracking import Run
from pipeline.training.loading import load_tokenizer

TRACE_FILE, DEMO_FILE = Path("data/traces/traces.parquet"), Path("data/demos.parquet")
TRAIN_FILE = Path("data/tasks/train.parquet")
HELD_OUT_FILES = (Path("data/tasks/valid.parquet"), Path("data/tasks/eval.parquet"))
OUT, REPORT = Path("data/sft.parquet"), Path("data/curate.parquet")
BASE = Path("models/base")


def body(params: Params, run: Run) -> None:
    """Write data/sft.parquet, data/curate.parquet and metrics/curate.json."""
    held_out = [task for path in HELD_OUT_FILES for task in _tasks(path)]
    train = list(_tasks(TRAIN_FILE)) if params.synthesize.pivots.enabled else []
    seen = seen_tools([*train, *held_out])
    judged = judge_all(params, held_out, train, seen)
    if remark := unknown_success(params.curate.success.name, judged, _scores()):
        print(f"curate     {remark}", flush=True)
    check_names(params.curate.mixture, (one.row["format"] for one in judged))
    kept = [one for one in judged if one.copies]
    if not kept:
        raise EmptyOutputError(_nothing_kept(judged))
    times = [one.started_at for one in kept]
    parts = split_parts([one.keys for one in kept], params.curate.valid_share, params.seed, times)
    write_parquet(OUT, _rows(judged, parts, candidates(params, seen)), SFT_ROWS)
    write_parquet(REPORT, (one.row for one in judged), CURATED)
    metrics = summarise(judged, parts)
    write_json(Path("metrics/curate.json"), metrics)
    run.log_metrics({name: float(value) for name, value in metrics.items() if isinstance(value, int | float)})
    left_out = _said(judged) or "none"
    print(f"curate     {metrics['kept']} of {metrics['came']} imitated; left out: {left_out}", flush=True)


def candidates(params: Params, seen: Mapping[str, Tools]) -> Iterator[Candidate]:
    """Traces, then demonstrations, in the order of their tables."""
    success = params.curate.success.name
    for row in read_parquet(TRACE_FILE, TRACES):
        yield from_trace(trace_from_row(row), success, seen)
    for row in read_parquet(DEMO_FILE, DEMOS):
        yield from_demo(demo_from_row(row), success)


def judge_all(
    params: Params, held_out: Sequence[Task], train: Sequence[Task], seen: Mapping[str, Tools]
) -> list[Judged]:
    """Every candidate with its verdict, in order."""
    own = {harness_hash(world.tools) for world in load_worlds(params.environments).values()}
    own |= {harness_hash(tools) for task in train if (tools := tools_of(task)) is not None}
    encode = Harnesses(load_tokenizer(BASE)).encode
    chooser = Chooser(params.curate, params.seed, frozenset(own), HeldOut(held_out), encode)
    count = sum(1 for path, schema in ((TRACE_FILE, TRACES), (DEMO_FILE, DEMOS))
                for _ in read_parquet(path, schema, schema.names[:1]))  # fmt: skip
    progress = Progress("curate", count)
    judged = []
    for done, candidate in enumerate(candidates(params, seen), 1):
        judged.append(_judged(candidate, chooser.judge(candidate)))
        progress(done, "judging traces and demonstrations")
    return judged


def _scores() -> Iterator[str]:
    """Names of the scores of all traces."""
    return (name for row in read_parquet(TRACE_FILE, TRACES, ("scores",)) for name in loads(row["scores"]))


def _tasks(path: Path) -> Iterator[Task]:
    return (task_from_row(row) for row in read_parquet(path, TASKS))


def _judged(candidate: Candidate, verdict: Verdict) -> Judged:
    detail = verdict.detail
    if verdict.end is not None and detail is None:
        detail = f"cut behind message {verdict.end} of {len(candidate.messages)}, its last good turn"
    row = {
        "source_id": candidate.source_id, "origin": candidate.origin, "format": candidate.format,
        "reason": verdict.reason.value, "outcome": candidate.outcome, "tokens": verdict.tokens, "detail": detail,
    }  # fmt: skip
    keys = (*(f"task {name}" for name in candidate.task_ids), *(f"asks {text}" for text in candidate.questions[:1]))
    return Judged(row, keys, verdict.agent_tokens or 0, verdict.copies, verdict.end, candidate.started_at)


def _rows(judged: Sequence[Judged], parts: Sequence[Part], again: Iterator[Candidate]) -> Iterator[Row]:
    part = iter(parts)
    for one, candidate in zip(judged, again, strict=True):
        if one.copies:
            taken, whole = next(part), candidate.upto(one.end)
            yield from (sft_row(whole, taken, copy) for copy in range(one.copies))


def _said(judged: Sequence[Judged]) -> str:
    counts = Counter(one.row["reason"] for one in judged if not one.copies).most_common()
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
