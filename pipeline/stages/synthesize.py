"""Stage synthesize: train, valid and eval tasks with checkable answers, and demonstrations of train tasks.

Pivot tasks, made of traces alone, have a share of every split like one more environment. Beside these, tasks outside
all environments, which only `evaluate` reads.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path

from pipeline.environments.outside import outside_worlds
from pipeline.environments.worlds import Worlds, load_worlds
from pipeline.errors import EmptyOutputError, InputError
from pipeline.params import PIVOT, Params
from pipeline.records import DEMOS, TASKS, TRACES, Split, Trace
from pipeline.remote.memory import Memory
from pipeline.rows import Row, demo_to_row, task_from_row, task_to_row, trace_from_row
from pipeline.stages.common import Progress, stage_main
from pipeline.synthesis.demos import check_habits, demonstrate
from pipeline.synthesis.making import Order, Tally, make_rows, shares
from pipeline.synthesis.outside import outside_tasks
from pipeline.synthesis.pivot_splits import FEWEST
from pipeline.synthesis.pivots import Pivots, make_pivots
from pipeline.synthesis.questions import Noise
from pipeline.synthesis.teacher import NOTHING, teach
from pipeline.tables import read_parquet, write_json, write_parquet
from pipeline.tracking import Run

FOLDER = Path("data/tasks")
DEMO_FILE = Path("data/demos.parquet")
TRACE_FILE = Path("data/traces/traces.parquet")


def body(params: Params, run: Run) -> None:
    """Make every split, then the demonstrations; write tables and counts."""
    golden, teacher = params.synthesize.demos, params.synthesize.teacher
    wanted = golden + (teacher.tasks if teacher else 0)
    if wanted > params.synthesize.train:
        raise InputError(
            f"params.yaml: synthesize.demos and teacher.tasks want {wanted} train tasks, but only "
            f"{params.synthesize.train} are made; lower them or raise synthesize.train"
        )
    worlds = load_worlds(params.environments)
    sizes: dict[Split, int] = {
        "train": params.synthesize.train, "valid": params.synthesize.valid, "eval": params.synthesize.eval,
    }  # fmt: skip
    check_habits(worlds, params.synthesize.habits)
    pivots = _pivots(params, sizes)
    tallies = {split: Tally() for split in sizes}
    to_show: list[Row] = []
    for split, size in sizes.items():
        drawn = make_rows(_order(params, split, size), tallies[split]) if worlds else iter(())
        first = _first(drawn, to_show if split == "train" else None, wanted)
        rows = by_turns(first, map(task_to_row, pivots.tasks[split]), len(worlds))
        noted = _noted(rows, Progress("synthesize", size), split)
        sizes[split] = write_parquet(FOLDER / f"{split}.parquet", noted, TASKS)
        if not sizes[split]:
            raise EmptyOutputError(_nothing_made(split, worlds, pivots))
    outside = outside_tasks(outside_worlds(), params.seed, params.synthesize.outside)
    aside = write_parquet(FOLDER / "outside.parquet", map(task_to_row, outside), TASKS)
    demos = demonstrate(worlds, map(task_from_row, to_show[:golden]), params.synthesize.habits)
    taught = teach(worlds, map(task_from_row, to_show[golden:]), teacher, Memory()) if teacher else NOTHING
    shown = write_parquet(DEMO_FILE, map(demo_to_row, chain(demos, taught.demos)), DEMOS)
    counts = {"outside": aside, "demos": shown} | {f"teacher_{name}": n for name, n in taught.metrics().items()}
    made = {
        split: {
            "tasks": sizes[split],
            "templates": tally.templates | _templates(pivots, split),
            "rejected": tally.rejected,
        }
        for split, tally in tallies.items()
    }
    from_traces = {"pivots": pivots.metrics()} if params.synthesize.pivots.enabled else {}
    write_json(Path("metrics/synthesize.json"), made | counts | from_traces)
    run.log_metrics({str(split): size for split, size in sizes.items()} | counts)
    if teacher:
        fates = ", ".join(f"{count} {reason}" for reason, count in taught.reasons.items())
        print(f"synthesize runs of the teacher: {fates}", flush=True)
    if from_traces:
        print(f"synthesize pivot tasks: {_said(pivots.turns)}; traces: {_said(pivots.traces)}", flush=True)


def _traces() -> Iterator[Trace]:
    return map(trace_from_row, read_parquet(TRACE_FILE, TRACES))


def _pivots(params: Params, sizes: Mapping[Split, int]) -> Pivots:
    """Pivot tasks, as many a split as one more environment would have."""
    if not params.synthesize.pivots.enabled:
        return Pivots({split: [] for split in sizes})
    share = {split: _shares(params, size)[PIVOT] for split, size in sizes.items()}
    return make_pivots(_traces, params.synthesize.pivots, params.curate.success, share, params.seed)


def _shares(params: Params, size: int) -> dict[str, int]:
    own = (PIVOT,) if params.synthesize.pivots.enabled else ()
    return shares((*params.environments.names, *own), size)


def _order(params: Params, split: Split, size: int) -> Order:
    noise = Noise(params.synthesize.asides, params.synthesize.contradictions)
    sizes = {name: count for name, count in _shares(params, size).items() if name != PIVOT}
    return Order(params.environments, split, sizes, params.seed, noise)


def by_turns(rows: Iterable[Row], pivots: Iterable[Row], worlds: int) -> Iterator[Row]:
    """After one row of each of `worlds` environments one pivot task, until both run out."""
    left, right = iter(rows), iter(pivots)
    turn = [*islice(left, worlds), *islice(right, 1)]
    while turn:
        yield from turn
        turn = [*islice(left, worlds), *islice(right, 1)]


def _templates(pivots: Pivots, split: Split) -> dict[str, Counter[str]]:
    made = Counter(task.template for task in pivots.tasks[split])
    return {PIVOT: made} if made else {}


def _nothing_made(split: Split, worlds: Worlds, pivots: Pivots) -> str:
    files = ", ".join(str(world.tasks) for world in worlds.values())
    if files:
        return f"{files}: no row is of split {split}; add more rows, or give some of them that split"
    return (
        f"{TRACE_FILE}: no pivot task for split {split} (traces: {_said(pivots.traces)}; turns with calls: "
        f"{_said(pivots.turns)}); bring successful traces of at least {FEWEST} cases, see curate.success"
    )


def _said(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.most_common() if count) or "none"


def _noted(rows: Iterable[Row], progress: Progress, split: Split) -> Iterator[Row]:
    for number, row in enumerate(rows, start=1):
        progress(number, split)
        yield row


def _first(rows: Iterable[Row], kept: list[Row] | None, count: int) -> Iterator[Row]:
    """Pass `rows` on, and put the first `count` into `kept`."""
    for row in rows:
        if kept is not None and len(kept) < count:
            kept.append(row)
        yield row


if __name__ == "__main__":
    stage_main("synthesize", body)
