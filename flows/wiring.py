"""The stages by name, each with the stages whose outs it reads, in the order in which `dvc repro` runs them."""

from collections.abc import Mapping

Wiring = Mapping[str, tuple[str, ...]]
"""Stage to the stages it waits for; every stage stands behind those."""

PIPELINE: Wiring = {
    "demo": (),
    "ingest": ("demo",),
    "synthesize": (),
    "base": ("synthesize",),
    "curate": ("ingest", "synthesize", "base"),
    "sft": ("base", "curate"),
    "profile": ("synthesize", "sft"),
    "filter": ("synthesize", "profile"),
    "rl": ("synthesize", "sft", "filter"),
    "rft": ("synthesize", "sft", "filter", "rl"),
    "evaluate@base-valid": ("synthesize", "base"),
    "evaluate@base-eval": ("synthesize", "base"),
    "evaluate@base-outside": ("synthesize", "base"),
    "evaluate@sft-valid": ("synthesize", "sft"),
    "evaluate@sft-eval": ("synthesize", "sft"),
    "evaluate@sft-outside": ("synthesize", "sft"),
    "evaluate@rft-valid": ("synthesize", "rft"),
    "evaluate@rft-eval": ("synthesize", "rft"),
    "evaluate@rft-outside": ("synthesize", "rft"),
    "evaluate@rl-valid": ("synthesize", "rl"),
    "evaluate@rl-eval": ("synthesize", "rl"),
    "evaluate@rl-outside": ("synthesize", "rl"),
    "report": (
        "ingest",
        "synthesize",
        "base",
        "curate",
        "sft",
        "profile",
        "filter",
        "rl",
        "rft",
        "evaluate@base-valid",
        "evaluate@base-eval",
        "evaluate@base-outside",
        "evaluate@sft-valid",
        "evaluate@sft-eval",
        "evaluate@sft-outside",
        "evaluate@rft-valid",
        "evaluate@rft-eval",
        "evaluate@rft-outside",
        "evaluate@rl-valid",
        "evaluate@rl-eval",
        "evaluate@rl-outside",
    ),
}
