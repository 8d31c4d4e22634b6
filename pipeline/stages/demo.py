"""Stage demo: leave traces of a scripted agent under data/raw/demo, as a user's own agent would.

With `demo.enabled: false` the folder stays empty and data/raw holds the user's own traces only.
"""

import shutil
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from pipeline.environments.worlds import World, load_worlds
from pipeline.errors import ParamsError
from pipeline.params import Params
from pipeline.records import Message, Task
from pipeline.stages.common import Progress, stage_main
from pipeline.synthesis.making import shares
from pipeline.synthesis.recorded import anthropic_row, openai_row, recorded_run, recorded_tasks
from pipeline.synthesis.tasks import is_declared
from pipeline.tables import whole_file
from pipeline.tracking import Run

FOLDER = Path("data/raw/demo")


def body(params: Params, run: Run) -> None:
    """Write the two files, or an empty folder."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    if not params.demo.enabled:
        return
    worlds = _desks(params)
    tasks = list(_by_turns(worlds, params))
    progress = Progress("demo", params.demo.groups)
    rewards: list[float] = []
    with whole_file(FOLDER / "desk-a.jsonl") as desk_a, whole_file(FOLDER / "desk-b.jsonl") as desk_b:
        for index, task in enumerate(tasks):
            write, stream = (openai_row, desk_a) if index // len(worlds) % 2 == 0 else (anthropic_row, desk_b)
            world = worlds[task.environment]
            for trial, (messages, reward) in enumerate(_runs(world, task, params)):
                stream.write(write(world, task, trial, messages, reward))
                rewards.append(reward)
            progress(index + 1, f"mean outcome {sum(rewards) / len(rewards):.2f}")
    run.log_metrics({"traces": len(rewards), "mean_outcome": sum(rewards) / len(rewards)})


def _desks(params: Params) -> dict[str, World]:
    worlds = {name: world for name, world in load_worlds(params.environments).items() if is_declared(world)}
    if not worlds:
        raise ParamsError(
            "params.yaml: demo.enabled needs a declared environment among environments.names, whose procedure the "
            "scripted agent follows; add claims, or set demo.enabled to false"
        )
    return worlds


def _by_turns(worlds: dict[str, World], params: Params) -> Iterator[Task]:
    groups = shares(tuple(worlds), params.demo.groups)
    made = [recorded_tasks(world, params.seed, groups[name]) for name, world in worlds.items()]
    for turn in zip_longest(*made):
        yield from (task for task in turn if task is not None)


def _runs(world: World, task: Task, params: Params) -> Iterator[tuple[tuple[Message, ...], float]]:
    for trial in range(params.demo.tries):
        yield recorded_run(world, task, trial, params.demo.skip, params.demo.slip)


if __name__ == "__main__":
    stage_main("demo", body)
