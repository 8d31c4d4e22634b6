"""Stage synthesize: train, valid and eval tasks with checkable answers, and demonstrations of train tasks.

Beside these, tasks outside all environments, which only `evaluate` reads.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from pipeline.environments.outside import outside_worlds
from pipeline.environments.worlds import load_worlds
from pipeline.errors import EmptyOutputError, InputError
from pipeline.params import Params
from pipeline.records import DEMOS, TASKS, Split
from pipeline.remote.memory import Memory
from pipeline.rows import Row, demo_to_row, task_from_row, task_to_row
from pipeline.stages.common import Progress, stage_main
from pipeline.synthesis.demos import demonstrate
from pipeline.synthesis.making import Order, Tally, make_rows, shares
from pipeline.synthesis.outside import outside_tasks
from pipeline.synthesis.questions import Noise
from pipeline.synthesis.teacher import NOTHING, teach
from pipeline.tables import write_json, write_parquet
from pipeline.tracking import Run

FOLDER = Path("data/tasks")
DEMO_FILE = Path("data/demos.parquet")


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
    tallies = {split: Tally() for split in sizes}
    to_show: list[Row] = []
    for split, size in sizes.items():
        rows = _noted(make_rows(_order(params, split, size), tallies[split]), Progress("synthesize", size), split)
        first = to_show if split == "train" else None
        sizes[split] = write_parquet(FOLDER / f"{split}.parquet", _first(rows, first, wanted), TASKS)
        if not sizes[split]:
            files = ", ".join(str(world.tasks) for world in worlds.values())
            raise EmptyOutputError(
                f"{files}: no row is of split {split}; add more rows, or give some of them that split"
            )
    outside = outside_tasks(outside_worlds(), params.seed, params.synthesize.outside)
    aside = write_parquet(FOLDER / "outside.parquet", map(task_to_row, outside), TASKS)
    demos = demonstrate(worlds, map(task_from_row, to_show[:golden]))
    taught = teach(worlds, map(task_from_row, to_show[golden:]), teacher, Memory()) if teacher else NOTHING
    shown = write_parquet(DEMO_FILE, map(demo_to_row, chain(demos, taught.demos)), DEMOS)
    counts = {"outside": aside, "demos": shown} | {f"teacher_{name}": n for name, n in taught.metrics().items()}
    made = {
        split: {"tasks": sizes[split], "templates": tally.templates, "rejected": tally.rejected}
        for split, tally in tallies.items()
    }
    write_json(Path("metrics/synthesize.json"), made | counts)
    run.log_metrics({str(split): size for split, size in sizes.items()} | counts)
    if teacher:
        fates = ", ".join(f"{count} {reason}" for reason, count in taught.reasons.items())
        print(f"synthesize runs of the teacher: {fates}", flush=True)


def _order(params: Params, split: Split, size: int) -> Order:
    noise = Noise(params.synthesize.asides, params.synthesize.contradictions)
    return Order(params.environments, split, shares(params.environments.names, size), params.seed, noise)


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
