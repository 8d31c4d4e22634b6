"""One model's figures on one split, and the comparison of all models, as the metrics files hold them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.evaluation.by_environment import environment_mean, environments, label, null_rate, only
from pipeline.evaluation.by_grade import grade_means
from pipeline.evaluation.intervals import Bootstrap, Interval, bootstrap_mean, paired_difference
from pipeline.evaluation.metrics import TaskScores, mean_known, pass_at_k, pass_hat_k
from pipeline.params import EvaluateParams

DIGITS = 6
"""Decimals in metrics files: far below what an interval resolves, far above what a processor may change."""

DIFFERENCES = {"rl_sft": ("rl", "sft"), "rl_rft": ("rl", "rft"), "rft_sft": ("rft", "sft"), "sft_base": ("sft", "base")}
"""Name of a difference: the model that is hoped to be better, and the one it is compared with."""


def bootstrap_of(params: EvaluateParams, seed: int) -> Bootstrap:
    """The bootstrap that params ask for."""
    return Bootstrap(params.bootstrap, params.confidence, seed)


def figures(scores: TaskScores, params: EvaluateParams, seed: int) -> dict[str, float | int | None]:
    """pass_at_1 with its interval, pass_at_k, pass_hat_k, process, and n, k: means over tasks, rounded."""
    n_T, c_T = scores.graded_T, scores.successes_T
    first = bootstrap_mean(pass_at_k(n_T, c_T, 1), bootstrap_of(params, seed))
    return {
        "pass_at_1": rounded(first.mean), "ci_low": rounded(first.low), "ci_high": rounded(first.high),
        "pass_at_k": rounded(mean_known(pass_at_k(n_T, c_T, params.k))),
        "pass_hat_k": rounded(mean_known(pass_hat_k(n_T, c_T, params.k))),
        "process": rounded(mean_known(scores.process_T)), "n": params.tries, "k": params.k,
    }  # fmt: skip


def summarise(scores: TaskScores, params: EvaluateParams, seed: int) -> dict[str, Any]:
    """What metrics/eval/<model>-<split>.json holds: `figures`, what lacks, endings, grades, parts."""
    tries = len(scores.tries)
    parts = by_environment(scores, params, seed)
    return {
        **figures(scores, params, seed),
        "tasks": len(scores.task_ids),
        "missing_tasks": int((scores.graded_T == 0).sum()),
        "tasks_below_k": int((scores.graded_T < params.k).sum()),
        "rollouts": tries,
        "null_rollouts": tries - int(scores.graded_T.sum()),
        "null_rate": rounded(null_rate(scores)),
        "turns": rounded(_mean([one.turns for one in scores.tries])),
        "tokens": rounded(_mean([one.tokens for one in scores.tries])),
        "stop_reasons": dict(sorted(Counter(one.stop_reason for one in scores.tries).items())),
        "grades": grade_means([one.grades for one in scores.tries], DIGITS),
        "environment_mean": rounded(environment_mean(parts)),
        "by_environment": parts,
        "by_template": by_template(scores, params, seed),
    }


def by_environment(scores: TaskScores, params: EvaluateParams, seed: int) -> dict[str, dict[str, float | int | None]]:
    """Per environment: tasks, `figures` but for n and k, and the share of tries that it broke."""
    found = {}
    for name in environments(scores):
        mine = only(scores, name)
        shown = {key: value for key, value in figures(mine, params, seed).items() if key not in ("n", "k")}
        found[name] = {"tasks": len(mine.task_ids), **shown, "null_rate": rounded(null_rate(mine))}
    return found


def by_template(scores: TaskScores, params: EvaluateParams, seed: int) -> dict[str, dict[str, float | int | None]]:
    """Per template: tasks, pass_at_1 with its interval, pass_hat_k, process."""
    names = environments(scores)
    return {
        label(name, template, len(names) > 1): figures
        for name in names
        for template, figures in _templates(only(scores, name), params, seed).items()
    }


def _templates(scores: TaskScores, params: EvaluateParams, seed: int) -> dict[str, dict[str, float | int | None]]:
    at_1 = pass_at_k(scores.graded_T, scores.successes_T, 1)
    hat_k = pass_hat_k(scores.graded_T, scores.successes_T, params.k)
    found: dict[str, dict[str, float | int | None]] = {}
    for template in sorted(set(scores.templates)):
        chosen = np.array([kind == template for kind in scores.templates])
        first = bootstrap_mean(at_1[chosen], bootstrap_of(params, seed))
        found[template] = {
            "tasks": int(chosen.sum()), "pass_at_1": rounded(first.mean), "ci_low": rounded(first.low),
            "ci_high": rounded(first.high), "pass_hat_k": rounded(mean_known(hat_k[chosen])),
            "process": rounded(mean_known(scores.process_T[chosen])),
        }  # fmt: skip
    return found


def compare(models: Mapping[str, TaskScores], params: EvaluateParams, seed: int) -> dict[str, Any]:
    """`models` with their `figures`, and the paired `differences` of pass@1 between those present."""
    how = bootstrap_of(params, seed)
    return {
        "models": {name: figures(scores, params, seed) for name, scores in models.items()},
        "differences": {
            name: interval_json(paired_difference(models[better], models[worse], how))
            for name, (better, worse) in DIFFERENCES.items()
            if better in models and worse in models
        },
    }


def compare_environments(models: Mapping[str, TaskScores], params: EvaluateParams, seed: int) -> dict[str, Any]:
    """`compare` within each environment, and each model's mean over environments; empty where there is only one."""
    names = environments(*models.values())
    if len(names) < 2:
        return {}
    found = {
        name: compare({model: only(scores, name) for model, scores in models.items()}, params, seed) for name in names
    }
    means = {model: environment_mean({name: found[name]["models"][model] for name in names}) for model in models}
    return {"environments": found, "environment_mean": {model: rounded(mean) for model, mean in means.items()}}


def interval_json(interval: Interval) -> dict[str, float | None]:
    """`mean`, `ci_low`, `ci_high`, rounded."""
    return {"mean": rounded(interval.mean), "ci_low": rounded(interval.low), "ci_high": rounded(interval.high)}


def rounded(value: float | None) -> float | None:
    """`value` to DIGITS decimals; null stays null."""
    return None if value is None else round(value, DIGITS)


def _mean(values: list[int]) -> float | None:
    return sum(values) / len(values) if values else None
