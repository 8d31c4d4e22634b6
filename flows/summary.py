"""The short table that stands at the end of a run, from metrics/eval.json."""

from collections.abc import Mapping
from typing import Any

NAMES = {"base": "base", "sft": "SFT", "rft": "rejection sampling", "rl": "RL"}
"""Models in the order shown."""


def summary(metrics: Mapping[str, Any]) -> str:
    """Lines with each model on held-out tasks, and the paired difference between RL and SFT."""
    models: Mapping[str, Mapping[str, Any]] = metrics.get("models", {})
    shown = [name for name in NAMES if name in models]
    k = next((models[name].get("k") for name in shown), "k")
    lines = [
        "",
        "on held-out tasks (eval)",
        f"  {'model':<20}{'pass@1':>8}  {'95 % interval':<16}{f'pass@{k}':>8}{f'pass^{k}':>8}{'process':>9}",
    ]
    lines += [_row(NAMES[name], models[name]) for name in shown]
    difference = metrics.get("differences", {}).get("rl_sft")
    if difference:
        interval = f"[{_points(difference.get('ci_low'))}, {_points(difference.get('ci_high'))}]"
        lines.append(f"  RL - SFT, paired by task: {_points(difference.get('mean'))} points {interval}")
    return "\n".join(lines)


def _row(name: str, model: Mapping[str, Any]) -> str:
    interval = f"[{_share(model.get('ci_low'))}, {_share(model.get('ci_high'))}]"
    return (
        f"  {name:<20}{_share(model.get('pass_at_1')):>8}  {interval:<16}{_share(model.get('pass_at_k')):>8}"
        f"{_share(model.get('pass_hat_k')):>8}{_share(model.get('process')):>9}"
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _points(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:+.1f}"
