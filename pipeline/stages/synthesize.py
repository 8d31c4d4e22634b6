"""Stage synthesize: train, valid and eval tasks with checkable answers, and demonstrations of train tasks.

Beside these, tasks outside all environments, which only `evaluate` reads.
"""

from collections import Counter
from pathlib import Path

from pipeline.environments.outside import outside_worlds
from pipeline.environments.worlds import load_worlds
from pipeline.errors import InputError
from pipeline.params import Params
from pipeline.records import DEMOS, TASKS, Split, Task
from pipeline.rows import demo_to_row, task_to_row
from pipeline.stages.common import Progress, stage_main
from pipeline.synthesis.demos import demonstrate
from pipeline.synthesis.outside import outside_tasks
from pipeline.synthesis.tasks import unique_tasks
from pipeline.tables import write_json, write_parquet
from pipeline.tracking import Run

FOLDER = Path("data/tasks")
DEMO_FILE = Path("data/demos.parquet")


def body(params: Params, run: Run) -> None:
    """Make every split, then the demonstrations; write tables and counts."""
    sizes: dict[Split, int] = {
        "train": params.synthesize.train, "valid": params.synthesize.valid, "eval": params.synthesize.eval,
    }  # fmt: skip
    if params.synthesize.demos > sizes["train"]:
        raise InputError(
            f"params.yaml: synthesize.demos is {params.synthesize.demos} but only {sizes['train']} train tasks are "
            "made; lower it or raise synthesize.train"
        )
    worlds = load_worlds(params.environments)
    [world] = worlds.values()
    progress = Progress("synthesize", sum(sizes.values()))
    tasks: dict[Split, list[Task]] = {split: [] for split in sizes}
    for split, count in sizes.items():
        for task in unique_tasks(world, params.seed, split, count):
            tasks[split].append(task)
            progress(sum(len(made) for made in tasks.values()), split)
    tasks["outside"] = list(outside_tasks(outside_worlds(), params.seed, params.synthesize.outside))
    for split, made in tasks.items():
        write_parquet(FOLDER / f"{split}.parquet", map(task_to_row, made), TASKS)
    demos = list(demonstrate(worlds, tasks["train"][: params.synthesize.demos]))
    write_parquet(DEMO_FILE, map(demo_to_row, demos), DEMOS)
    templates = {split: dict(sorted(Counter(task.template for task in made).items())) for split, made in tasks.items()}
    counts = {split: len(made) for split, made in tasks.items()} | {"demos": len(demos)}
    write_json(Path("metrics/synthesize.json"), counts | {"templates": templates})
    run.log_metrics(counts)


if __name__ == "__main__":
    stage_main("synthesize", body)
