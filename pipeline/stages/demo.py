"""Stage demo: leave traces of a scripted claims desk under data/raw/demo, as a user's own agent would.

With `demo.enabled: false` the folder stays empty and data/raw holds the user's own traces only.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from pipeline.environments.worlds import World, load_worlds
from pipeline.errors import ParamsError
from pipeline.params import Params
from pipeline.records import Message, Task
from pipeline.stages.common import Progress, stage_main
from pipeline.synthesis.recorded import anthropic_row, openai_row, recorded_run, recorded_tasks
from pipeline.tables import whole_file
from pipeline.tracking import Run

FOLDER = Path("data/raw/demo")
DESK = "claims"
"""The environment that the scripted agent works in."""


def body(params: Params, run: Run) -> None:
    """Write the two files, or an empty folder."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    if not params.demo.enabled:
        return
    world = _desk(params)
    tasks = list(recorded_tasks(world, params.seed, params.demo.groups))
    progress = Progress("demo", params.demo.groups)
    rewards: list[float] = []
    with whole_file(FOLDER / "desk-a.jsonl") as desk_a, whole_file(FOLDER / "desk-b.jsonl") as desk_b:
        for index, task in enumerate(tasks):
            write, stream = (openai_row, desk_a) if index % 2 == 0 else (anthropic_row, desk_b)
            for trial, (messages, reward) in enumerate(_runs(world, task, params)):
                stream.write(write(world, task, trial, messages, reward))
                rewards.append(reward)
            progress(index + 1, f"mean outcome {sum(rewards) / len(rewards):.2f}")
    run.log_metrics({"traces": len(rewards), "mean_outcome": sum(rewards) / len(rewards)})


def _desk(params: Params) -> World:
    worlds = load_worlds(params.environments)
    if DESK not in worlds:
        raise ParamsError(
            f"params.yaml: demo.enabled needs the environment {DESK!r} among environments.names; add it, or set "
            "demo.enabled to false"
        )
    return worlds[DESK]


def _runs(world: World, task: Task, params: Params) -> Iterator[tuple[tuple[Message, ...], float]]:
    for trial in range(params.demo.tries):
        yield recorded_run(world, task, trial, params.demo.skip, params.demo.slip)


if __name__ == "__main__":
    stage_main("demo", body)
