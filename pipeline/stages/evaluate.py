"""Score one model on one split of held-out tasks: `python -m pipeline.stages.evaluate MODEL SPLIT`.

MODEL is a folder under models/, SPLIT is valid or eval, or outside: tasks of no environment, to see forgetting. Every
task is tried `evaluate.tries` times. Rollouts go out with their grades; finished chunks are kept under .work, so that a
killed run goes on where it was.
"""

import sys
from functools import partial
from pathlib import Path

from pipeline.environments.outside import outside_worlds
from pipeline.environments.worlds import load_worlds
from pipeline.errors import InputError, ParamsError
from pipeline.evaluation.metrics import collect
from pipeline.evaluation.summary import summarise
from pipeline.graders.config import make_panel
from pipeline.graders.panel import NOBODY
from pipeline.params import Params
from pipeline.records import ROLLOUTS, TASKS, Rollout, Task
from pipeline.rollouts.places import Places
from pipeline.rollouts.pool import play_chunks
from pipeline.rollouts.transformers_engine import TransformersEngine
from pipeline.rows import rollout_to_row, task_from_row
from pipeline.stages.common import WORK, Progress, stage_main
from pipeline.tables import read_parquet, write_json, write_parquet
from pipeline.tracking import Run
from pipeline.training.loading import load_model

MODELS = ("base", "sft", "rft", "rl")
OUTSIDE = "outside"
SPLITS = ("valid", "eval", OUTSIDE)
OUTSIDE_TURNS = 2
"""Turns of an episode outside: one call, then an answer; a model that does not end would only cost time."""


def body(model: str, split: str, params: Params, run: Run) -> None:
    """Write data/eval/<model>-<split>.parquet and metrics/eval/<model>-<split>.json."""
    path = Path(f"data/tasks/{split}.parquet")
    tasks = [task_from_row(row) for row in read_parquet(path, TASKS)]
    if not tasks and split != OUTSIDE:
        raise InputError(f"{path}: holds no tasks; raise synthesize.{split} and run `synthesize` again")
    name = f"{model}-{split}"
    rollouts = _play(model, split, tasks, params) if tasks else []
    rollouts = sorted(rollouts, key=lambda one: (one.task_id, one.try_index))
    rows = [rollout_to_row(rollout) for rollout in rollouts]
    summary = summarise(collect(rows, params.reward.success_at), params.evaluate, params.seed)
    write_parquet(Path(f"data/eval/{name}.parquet"), rows, ROLLOUTS)
    write_json(Path(f"metrics/eval/{name}.json"), summary)
    run.log_metrics({key: value for key, value in summary.items() if isinstance(value, int | float)})
    _tell(name, summary)


def arguments(argv: list[str]) -> tuple[str, str]:
    """Model and split from the command line. Raises ParamsError."""
    if len(argv) != 2 or argv[0] not in MODELS or argv[1] not in SPLITS:
        found = " ".join(argv) or "nothing"
        raise ParamsError(f"found {found!r}; say a model ({', '.join(MODELS)}) and a split ({', '.join(SPLITS)})")
    return argv[0], argv[1]


def _play(model: str, split: str, tasks: list[Task], params: Params) -> list[Rollout]:
    folder, name, how = Path("models") / model, f"{model}-{split}", params.rollouts
    worlds, panel = load_worlds(params.environments), make_panel(params.graders)
    if split == OUTSIDE:
        panel = NOBODY
        worlds, how = outside_worlds(), how.model_copy(update={"max_turns": min(OUTSIDE_TURNS, how.max_turns)})
    places = Places.load(folder, worlds)
    engine = TransformersEngine(load_model(folder), places.eos_id, places.pad_id, how.slots)
    progress = Progress(name, len(tasks) * params.evaluate.tries)
    return play_chunks(
        engine, places, tasks, params.evaluate.tries, how, model=model, seed=params.seed,
        work=WORK / "evaluate" / name, on_progress=progress, panel=panel,
    )  # fmt: skip


def _tell(name: str, summary: dict[str, float | None]) -> None:
    if not summary["tasks"]:
        print(f"{name:<10} no tasks: synthesize.outside is 0", flush=True)
        return
    if summary["pass_at_1"] is None:
        print(f"{name:<10} no try has an outcome: see stop_reasons in metrics/eval/{name}.json", flush=True)
        return
    print(
        f"{name:<10} pass@1 {summary['pass_at_1']:.3f} ({summary['ci_low']:.3f} to {summary['ci_high']:.3f})",
        flush=True,
    )


if __name__ == "__main__":
    chosen = arguments(sys.argv[1:])
    stage_main(f"evaluate@{'-'.join(chosen)}", partial(body, *chosen))
