"""Keep the tasks that carry a learning signal.

Reads the profile's rollouts, computes rewards from their grades, and asks each group the steps of `filter.steps` in
order. Every profiled group stands in data/groups.parquet with its verdict and reason; only kept ones go on.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.errors import EmptyOutputError, InputError
from pipeline.filter_params import BrokenStep, FilterParams, NearDuplicateStep
from pipeline.params import Params
from pipeline.records import GROUPS, RL_TASKS, ROLLOUTS, TASKS
from pipeline.selection.filters import make_filter
from pipeline.selection.groups import group_stats
from pipeline.selection.judging import LOW_DISPERSION, Asked, judge
from pipeline.selection.reasons import Reason
from pipeline.selection.tally import tally
from pipeline.stages.common import stage_main
from pipeline.tables import check_parquet, whole_file, write_arrow, write_json
from pipeline.tracking import Run

ROLLOUTS_FILE = Path("data/profile/rollouts.parquet")
TASKS_FILE = Path("data/tasks/train.parquet")
SHOWN = ("pass_rate", "reward_mean", "reward_std", "valid")
"""What data/rl_tasks.parquet says of each task's group."""

REMEDIES = {
    Reason.TOO_FEW_VALID: "lower `least` of too_few_valid, raise profile.tries, or mend the environment",
    Reason.NO_SPREAD: "raise profile.tries or rollouts.temperature, or use other tasks",
    Reason.LOW_SPREAD: "raise top_share or top_mass of spread",
    Reason.BELOW_WINDOW: "lower the first number of the window of pass_rate",
    Reason.ABOVE_WINDOW: "raise the second number of the window of pass_rate",
    Reason.NEVER_SOLVED: "set never_solved of broken to false, or use easier tasks",
    Reason.GOLDEN_FAILS: "mend the environment (`python -m pipeline env check`) or set golden of broken to false",
    Reason.TOO_LONG: "raise the limits of too_long",
    Reason.NEAR_DUPLICATE: "raise similarity of near_duplicate",
    Reason.OVER_QUOTA: "raise `most` of quota",
}


def body(params: Params, run: Run) -> None:
    """Write data/rl_tasks.parquet, data/groups.parquet, metrics/filter.json and plots/groups.csv."""
    check_parquet(ROLLOUTS_FILE, ROLLOUTS)
    check_parquet(TASKS_FILE, TASKS)
    tasks = pl.scan_parquet(TASKS_FILE)
    groups = group_stats(pl.scan_parquet(ROLLOUTS_FILE), params.reward, k=params.evaluate.k, tries=params.profile.tries)
    _refuse_strays(groups, tasks)
    steps = params.filter.steps
    facts = _with_facts(groups, tasks, params)
    judged, asked = judge(facts, [make_filter(step) for step in steps], params.filter.keep_solved)
    write_arrow(Path("data/groups.parquet"), judged.select(GROUPS.names).to_arrow(), GROUPS)
    kept = judged.filter(pl.col("verdict") == "kept")
    if kept.is_empty():
        raise EmptyOutputError(_nothing_kept(judged))
    metrics = tally(judged, tasks.select(pl.len()).collect().item()) | {"steps": _steps(params.filter, asked)}
    chosen = tasks.join(kept.lazy().select("task_id", *SHOWN), on="task_id").sort("task_id")
    write_arrow(Path("data/rl_tasks.parquet"), chosen.select(RL_TASKS.names).collect().to_arrow(), RL_TASKS)
    _write_plot(Path("plots/groups.csv"), judged)
    write_json(Path("metrics/filter.json"), metrics)
    _tell(metrics)
    run.log_metrics({name: float(value) for name, value in metrics.items() if isinstance(value, int | float)})


def _refuse_strays(groups: pl.DataFrame, tasks: pl.LazyFrame) -> None:
    stray = groups.lazy().select("task_id").join(tasks, on="task_id", how="anti").sort("task_id").head(1).collect()
    if stray.height:
        raise InputError(f"{ROLLOUTS_FILE}: task {stray.item()} is not in {TASKS_FILE}; run `profile` again")


def _with_facts(groups: pl.DataFrame, tasks: pl.LazyFrame, params: Params) -> pl.DataFrame:
    """The groups with what their tasks say, as far as a step asks for it: columns `text` and `golden_fails`."""
    for step in params.filter.steps:
        if isinstance(step, NearDuplicateStep):
            text = pl.concat_str([pl.col(name) for name in step.text], separator="\n").alias("text")
            groups = groups.drop("text", strict=False).join(
                tasks.select("task_id", text).collect(), on="task_id", how="left"
            )
        if isinstance(step, BrokenStep) and step.golden:
            groups = groups.with_columns(pl.col("task_id").is_in(_failing(groups, params)).alias("golden_fails"))
    return groups


def _failing(groups: pl.DataFrame, params: Params) -> list[str]:
    """Tasks whose golden run fails today."""
    # Here and not above: only this step needs the environments.
    from pipeline.environments.worlds import load_worlds
    from pipeline.rows import task_from_row
    from pipeline.synthesis.golden_again import golden_works
    from pipeline.tables import read_parquet

    worlds, wanted = load_worlds(params.environments), set(groups["task_id"].to_list())
    tasks = (task_from_row(row) for row in read_parquet(TASKS_FILE, TASKS) if row["task_id"] in wanted)
    return [task.task_id for task in tasks if task.environment in worlds
            and not golden_works(worlds[task.environment], task)]  # fmt: skip


def _steps(params: FilterParams, asked: list[Asked]) -> list[dict[str, Any]]:
    return [
        {"kind": step.kind, "asked": one.asked, "dropped": one.dropped}
        for step, one in zip(params.steps, asked, strict=True)
    ]


def _nothing_kept(judged: pl.DataFrame) -> str:
    counts = Counter(judged["reason"].to_list()).most_common()
    if not counts:
        return f"{ROLLOUTS_FILE}: holds no rollouts; run `profile` with tasks and tries first"
    said = ", ".join(f"{count} {reason}" for reason, count in counts)
    return (
        f"none of {judged.height} groups is left ({said}); {REMEDIES[Reason(counts[0][0])]} (filter.steps in params); "
        "`python -m pipeline tasks list` shows each"
    )


def _write_plot(path: Path, judged: pl.DataFrame) -> None:
    kept = (pl.col("verdict") == "kept").alias("kept")
    columns = ("task_id", "environment", "template", "pass_rate", "reward_std", kept, "reason")
    with whole_file(path, "w") as stream:
        stream.write(judged.select(columns).write_csv())


def _tell(metrics: dict[str, Any]) -> None:
    said = ", ".join(f"{count} {reason}" for reason, count in metrics["dropped_by_reason"].items() if count)
    print(f"filter     {metrics['kept']} of {metrics['groups']} groups kept; dropped: {said or 'none'}", flush=True)
    if metrics["stopped_early"]:
        print(f"filter     {metrics['stopped_early']} groups stopped early: their pass rates are biased", flush=True)
    ratio = metrics["dispersion"]
    if ratio is not None and ratio < LOW_DISPERSION:
        print(
            f"filter     warning: the kept groups' spreads barely differ (std/mean {ratio:.2f} < {LOW_DISPERSION}); "
            "choosing tasks by spread gains little here and may hurt; set rl.sampler.kind to uniform, or profile more "
            "tasks",
            flush=True,
        )


if __name__ == "__main__":
    stage_main("filter", body)
