"""The short table that stands at the end of a run, from metrics/eval.json, and doubts that its figures raise."""

from collections.abc import Mapping
from typing import Any

NAMES = {"base": "base", "sft": "SFT", "rft": "rejection sampling", "rl": "RL"}
"""Models in the order shown."""
FAR, LITTLE = 0.1, 0.2
"""A pass rate on train worth a word, and the share of it below which the one on valid is."""


def comparison(metrics: Mapping[str, Any]) -> str:
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


def doubts(models: Mapping[str, Mapping[str, Any]], stages: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Sentences on what a reader should know before trusting the comparison.

    `models` holds the figures of the models on valid, `stages` metrics/STAGE.json by stage.
    """
    found = []
    if stages.get("sft", {}).get("unfinished"):
        found.append(
            "SFT was not finished: its valid loss still fell at its last look; train it longer (sft.epochs) before "
            "anything else"
        )
    for name in ("rft", "rl"):
        if stages.get(name, {}).get("best_step") == 0:
            found.append(
                f"{NAMES[name]} is the SFT model: no step of it was better on valid, so none was kept; train longer or "
                "at another learning rate, or show valid more tasks or tries"
            )
    reached, valid = stages.get("profile", {}).get("success_rate"), models.get("sft", {}).get("pass_at_1")
    if reached is not None and valid is not None and reached >= FAR and valid <= reached * LITTLE:
        found.append(
            f"SFT solves {reached:.0%} of the train tasks and {valid:.0%} of the valid ones: it has learnt what only "
            "train has, such as its wordings; `base` says whether valid asks in words that no demonstration has"
        )
    return found


def _row(name: str, model: Mapping[str, Any]) -> str:
    interval = f"[{_share(model.get('ci_low'))}, {_share(model.get('ci_high'))}]"
    return (
        f"  {name:<20}{_share(model.get('pass_at_1')):>8}  {interval:<16}{_share(model.get('pass_at_k')):>8}"
        f"{_share(model.get('pass_hat_k')):>8}{_share(model.get('process')):>9}"
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _points(value: float | None) -> str:
    return "-" if value is None else f"{round(100 * value, 1) + 0.0:+.1f}"  # no -0.0
