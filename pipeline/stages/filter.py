"""Keep the tasks that carry a learning signal.

Reads the profile's rollouts, computes rewards from their grades, and asks each group the filters of `params.filter` in
order. Every profiled group stands in data/groups.parquet with its verdict and reason; only kept ones go on.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.errors import EmptyOutputError, InputError
from pipeline.params import FilterParams, Params
from pipeline.records import GROUPS, RL_TASKS, ROLLOUTS, TASKS
from pipeline.selection.filters import LOW_DISPERSION, Reason, dispersion, filters, judge
from pipeline.selection.groups import COLUMNS, group_stats
from pipeline.stages.common import stage_main
from pipeline.tables import read_parquet, whole_file, write_json, write_parquet
from pipeline.tracking import Run

ROLLOUTS_FILE = Path("data/profile/rollouts.parquet")
TASKS_FILE = Path("data/tasks/train.parquet")

REMEDIES = {
    Reason.TOO_FEW_VALID: "lower filter.min_valid, raise profile.tries, or mend the environment",
    Reason.NO_SPREAD: "lower filter.min_spread, raise profile.tries or rollouts.temperature, or use other tasks",
    Reason.BELOW_WINDOW: "lower the first number of filter.pass_rate",
    Reason.ABOVE_WINDOW: "raise the second number of filter.pass_rate",
}


def body(params: Params, run: Run) -> None:
    """Write data/rl_tasks.parquet, data/groups.parquet, metrics/filter.json and plots/groups.csv."""
    rows = read_parquet(ROLLOUTS_FILE, ROLLOUTS, COLUMNS)
    groups = group_stats(rows, params.reward)
    judged = judge(groups, filters(params.filter), params.filter.keep_solved)
    kept = judged.filter(pl.col("verdict") == "kept")
    if kept.is_empty():
        raise EmptyOutputError(_nothing_kept(judged))
    tasks = list(read_parquet(TASKS_FILE, TASKS))
    metrics = summarise(judged, len(tasks))
    write_parquet(Path("data/rl_tasks.parquet"), _with_stats(tasks, kept), RL_TASKS)
    write_parquet(Path("data/groups.parquet"), judged.iter_rows(named=True), GROUPS)
    _write_plot(Path("plots/groups.csv"), judged)
    write_json(Path("metrics/filter.json"), metrics)
    _tell(metrics, params.filter)
    run.log_metrics({name: float(value) for name, value in metrics.items() if isinstance(value, int | float)})


def summarise(judged: pl.DataFrame, tasks: int) -> dict[str, Any]:
    """Counts by reason and means over the judged groups, as metrics/filter.json holds them."""
    reasons = Counter(judged["reason"].to_list())
    kept = judged.filter(pl.col("verdict") == "kept")
    tries, valid = (sum(judged[name].to_list()) for name in ("tries", "valid"))
    return {
        "train_tasks": tasks,
        "not_profiled": tasks - judged.height,
        "groups": judged.height,
        "kept": kept.height,
        "kept_by_reason": {name.value: reasons[name] for name in (Reason.SIGNAL, Reason.SOLVED_SHARE)},
        "dropped": judged.height - kept.height,
        "dropped_by_reason": {reason.value: reasons[reason] for reason in REMEDIES},
        "always_solved": judged.filter(pl.col("pass_rate") == 1.0).height,
        "never_solved": judged.filter(pl.col("pass_rate") == 0.0).height,
        "without_pass_rate": judged["pass_rate"].null_count(),
        "pass_rate": _rounded(judged["pass_rate"].mean()),
        "kept_pass_rate": _rounded(kept["pass_rate"].mean()),
        "rollouts": tries,
        "null_rewards": tries - valid,
        "dispersion": _rounded(dispersion(kept["reward_std"])),
    } | _by_environment(judged)


def _by_environment(judged: pl.DataFrame) -> dict[str, Any]:
    """Groups, kept ones and mean pass rate of each environment; nothing where there is only one."""
    found = {}
    for name in sorted(set(judged["environment"].to_list())):
        mine = judged.filter(pl.col("environment") == name)
        kept = mine.filter(pl.col("verdict") == "kept").height
        found[name] = {"groups": mine.height, "kept": kept, "pass_rate": _rounded(mine["pass_rate"].mean())}
    return {"by_environment": found} if len(found) > 1 else {}


def _rounded(value: Any) -> float | None:
    return round(value, 6) if isinstance(value, float) else None


def _nothing_kept(judged: pl.DataFrame) -> str:
    counts = Counter(judged["reason"].to_list()).most_common()
    if not counts:
        return f"{ROLLOUTS_FILE}: holds no rollouts; run `profile` with tasks and tries first"
    said = ", ".join(f"{count} {reason}" for reason, count in counts)
    return f"none of {judged.height} groups is left ({said}); {REMEDIES[Reason(counts[0][0])]}"


def _with_stats(tasks: list[dict[str, Any]], kept: pl.DataFrame) -> list[dict[str, Any]]:
    by_id = {task["task_id"]: task for task in tasks}
    wanted = kept.select("task_id", "pass_rate", "reward_mean", "reward_std", "valid").rows(named=True)
    stray = [stats["task_id"] for stats in wanted if stats["task_id"] not in by_id]
    if stray:
        raise InputError(f"{ROLLOUTS_FILE}: task {stray[0]} is not in {TASKS_FILE}; run `profile` again")
    return [by_id[stats["task_id"]] | stats for stats in wanted]


def _write_plot(path: Path, judged: pl.DataFrame) -> None:
    kept = (pl.col("verdict") == "kept").alias("kept")
    with whole_file(path, "w") as stream:
        stream.write(judged.select("task_id", "template", "pass_rate", "reward_std", kept, "reason").write_csv())


def _tell(metrics: dict[str, Any], params: FilterParams) -> None:
    said = ", ".join(f"{count} {reason}" for reason, count in metrics["dropped_by_reason"].items() if count)
    print(f"filter     {metrics['kept']} of {metrics['groups']} groups kept; dropped: {said or 'none'}", flush=True)
    ratio = metrics["dispersion"]
    if ratio is not None and ratio < LOW_DISPERSION:
        print(
            f"filter     warning: the kept groups' spreads barely differ (std/mean {ratio:.2f} < {LOW_DISPERSION}); "
            f"choosing tasks by spread (min_spread {params.min_spread}) gains little here",
            flush=True,
        )


if __name__ == "__main__":
    stage_main("filter", body)
