"""Teach reasoning and procedure by multi-turn reinforcement learning.

Checkpoints lie under .work/rl/<hash of inputs, params and code>, so that a killed run goes on where it was and ends
with the same files; they go when the stage ends well.
"""

import shutil
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import polars as pl

import pipeline
from pipeline.environments.pivot import worlds_for
from pipeline.environments.worlds import fingerprints
from pipeline.grader_params import held_out_names
from pipeline.graders.reward import HELD_OUT
from pipeline.params import Params
from pipeline.records import LEDGER
from pipeline.rows import Row
from pipeline.stages.common import WORK, Progress, stage_main
from pipeline.tables import whole_file, write_json, write_parquet
from pipeline.tracking import Run
from pipeline.training.collect import Reason
from pipeline.training.ledger import read_parts
from pipeline.training.loading import copy_model
from pipeline.training.rl import RlResult, train_rl
from pipeline.training.rl_history import HistoryRow, columns
from pipeline.training.rl_tasks import read_tasks, read_valid
from pipeline.training.run_folder import RunFolder, run_key

MODEL = Path("models/sft")
TASKS_FILE = Path("data/rl_tasks.parquet")
VALID_FILE = Path("data/tasks/valid.parquet")
FAR = 0.2
"""Mean outcome on train tasks that makes a valid pass rate of 0 worth a warning."""
ROOMS = ("training", "rollouts", "selection", "environments", "graders", "remote", "own_graders", "condition.py")
CODE = tuple(Path(pipeline.__file__).parent / room for room in ROOMS)
"""Code that a checkpoint hangs on."""


def body(params: Params, run: Run) -> None:
    """Write models/rl, data/ledger.parquet, metrics/rl.json and plots/rl.csv."""
    tasks, valid = read_tasks(TASKS_FILE), read_valid(VALID_FILE)
    worlds = worlds_for(params.environments, [*(one.task for one in tasks), *valid])
    values = params.model_dump(include={"seed", "environments", "rollouts", "graders", "reward", "rl"})
    values["worlds"] = fingerprints(worlds)
    folder = RunFolder(WORK / "rl" / run_key(values, [*CODE, TASKS_FILE, VALID_FILE, MODEL]))
    if (latest := folder.latest()) is not None:
        print(f"rl         goes on after generation step {int(latest.name)}", flush=True)
    reporter = Reporter(params, run)
    tell_absent(params, {one.task.environment for one in tasks})
    result = train_rl(MODEL, worlds, tasks, valid, params, folder, reporter)
    copy_model(result.best, Path("models/rl"))
    write_parquet(Path("data/ledger.parquet"), read_parts(folder.ledger, params.rl.steps), LEDGER)
    metrics = summarise(result, _fates(folder, params), worlds)
    write_json(Path("metrics/rl.json"), metrics)
    with whole_file(Path("plots/rl.csv"), "w") as stream:
        names = columns(list(worlds), held_out_names(params.graders))
        stream.write(pl.DataFrame(result.history, schema=list(names), orient="row").write_csv())
    run.log_metrics({name: float(value) for name, value in metrics.items() if isinstance(value, int | float)})
    print(f"rl         best after step {result.best_step}: valid pass@1 {result.best_score:.3f}", flush=True)
    tell_gap(result)
    shutil.rmtree(WORK / "rl")


def tell_absent(params: Params, environments: Collection[str]) -> None:
    """Print a warning where `rl.sampler.mixture` gives a share to an environment of which no task is left."""
    absent = sorted({*(params.rl.sampler.mixture or {})} - {*environments})
    if absent:
        print(
            f"rl         warning: rl.sampler.mixture gives {', '.join(absent)} a share, but `filter` kept no task of "
            "it; the others take it",
            flush=True,
        )


def tell_gap(result: RlResult) -> None:
    """Print a warning where train tasks go well and valid ones not at all."""
    outcomes = [float(row["outcome"]) for row in result.history if row["step"] and row["outcome"] is not None]
    if outcomes and max(outcomes) >= FAR and result.best_score == 0:
        print(
            f"rl         warning: outcome {max(outcomes):.2f} on train tasks, but nothing is solved on valid: the "
            "model has learnt what only train has, such as its wordings; see what `base` says of the valid questions",
            flush=True,
        )


class Reporter:
    """Tells the run and the terminal about each generation step."""

    def __init__(self, params: Params, run: Run) -> None:
        self._run, self._groups = run, params.rl.groups
        self._progress = Progress("rl", params.rl.steps, seconds=0.0)

    def __call__(self, row: HistoryRow) -> None:
        """Log and print one row of the history."""
        step = int(row["step"] or 0)
        self._run.log_metrics({k: float(v) for k, v in row.items() if v is not None and k != "step"}, step)
        shown = {"reward": row["reward"], "outcome": row["outcome"], "valid pass@1": row["valid_pass_at_1"]}
        shown |= {name.replace("_", " "): value for name, value in row.items() if name.startswith(HELD_OUT)}
        note = "  ".join(f"{name} {value:.3f}" for name, value in shown.items() if value is not None)
        if step:
            note += f"  groups {row['groups']}  max_turns {row['max_turns']}"
            note += f"  reprofiled by {row['reprofiled']} rollouts" * bool(row["reprofiled"])
        self._progress(step, note)
        if step and int(row["groups"] or 0) < self._groups:
            said = (
                f"only {row['groups']} of {self._groups} groups had spread, so the batch is smaller; raise "
                "rl.max_rounds or rl.tries, or profile more tasks"
            )
            print(f"rl         warning: {said}", flush=True)


def summarise(result: RlResult, fates: list[Row], environments: Collection[str] = ()) -> dict[str, Any]:
    """What metrics/rl.json holds, from the history and each rollout's environment, reason, reward and tokens."""
    reasons = Counter(row["reason"] for row in fates)
    trained = [row for row in fates if row["trained"]]
    steps = [row for row in result.history if row["step"]]
    return {
        "best_step": result.best_step,
        "best_valid_pass_at_1": result.best_score,
        "first_valid_pass_at_1": result.history[0]["valid_pass_at_1"],
        "last_valid_pass_at_1": result.history[-1]["valid_pass_at_1"],
        "steps": len(steps),
        "rollouts": len(fates),
        "null_rewards": sum(row["reward"] is None for row in fates),
        "tokens": sum(row["token_count"] for row in fates),
        "trained_rollouts": len(trained),
        "trained_tokens": sum(row["token_count"] for row in trained),
        "by_reason": {reason.value: reasons[reason] for reason in Reason if reason is not Reason.TRAINED},
        "first_reward": steps[0]["reward"],
        "last_reward": steps[-1]["reward"],
        "groups": sum(int(row["groups"] or 0) for row in steps),
    } | _by_environment(fates, environments)


def _by_environment(fates: list[Row], environments: Collection[str]) -> dict[str, Any]:
    """Counts of each environment's rollouts; nothing where there is only one."""
    found = {}
    for name in environments if len(environments) > 1 else ():
        mine = [row for row in fates if row["environment"] == name]
        found[name] = {
            "rollouts": len(mine), "null_rewards": sum(row["reward"] is None for row in mine),
            "trained_rollouts": sum(row["trained"] for row in mine),
        }  # fmt: skip
    return {"by_environment": found} if found else {}


def _fates(folder: RunFolder, params: Params) -> list[Row]:
    names = ("environment", "reason", "trained", "reward", "token_count")
    return [{name: row[name] for name in names} for row in read_parts(folder.ledger, params.rl.steps, names)]


if __name__ == "__main__":
    stage_main("rl", body)
