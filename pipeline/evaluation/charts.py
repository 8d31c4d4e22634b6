"""The comparison of models: all tasks together, and template by template."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.evaluation.svg import TOKENS, canvas, drawing, inline, standalone

MARKERS = {"base": "s", "sft": "D", "rft": "^", "rl": "o"}
"""One shape a model, so that colour is never the only sign."""
LABELS = {"base": "Base", "sft": "SFT", "rft": "RFT", "rl": "RL"}
_WIDTH = 430
_LONGEST_LABEL = 26
"""Characters of a template's name beside the chart; the table has the whole name."""


@dataclass(frozen=True, slots=True)
class TemplateRow:
    """One template: pass@1 of SFT and RL, and their paired difference with its interval."""

    template: str
    tasks: int
    sft: float | None
    rl: float | None
    difference: float | None
    low: float | None
    high: float | None

    @property
    def verdict(self) -> str:
        """better, worse, or unclear when the interval holds zero or is unknown."""
        if self.low is not None and self.low > 0:
            return "better"
        return "worse" if self.high is not None and self.high < 0 else "unclear"


def comparison(models: Mapping[str, Mapping[str, Any]], name: str = "comparison") -> str:
    """pass@1 of each model with its interval over a band from pass^k to pass@k, as an inline `<svg>`."""
    with drawing():
        return inline(_comparison(models), name, _spoken(models))


def summary_file(models: Mapping[str, Mapping[str, Any]]) -> str:
    """The same chart as an SVG file of its own."""
    with drawing():
        return standalone(_comparison(models), _spoken(models))


def by_template(rows: Sequence[TemplateRow]) -> str:
    """From SFT's to RL's pass@1 in each template, in the order given from top to bottom, as an inline `<svg>`."""
    with drawing():
        figure, (axes,) = canvas(_WIDTH, 56 + 26 * len(rows))
        for place, row in enumerate(rows):
            _dumbbell(axes, place, row)
        axes.set_yticks(range(len(rows)), [_short(row.template) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        _percent_axis(axes)
        return inline(figure, "templates", "pass@1 of SFT and RL in each template; the table below holds the numbers")


def _comparison(models: Mapping[str, Mapping[str, Any]]) -> Figure:
    figure, (axes,) = canvas(_WIDTH, 60 + 40 * len(models))
    for place, (model, found) in enumerate(models.items()):
        _model(axes, place, model, found)
    axes.set_yticks(range(len(models)), [LABELS.get(model, model) for model in models])
    axes.set_ylim(len(models) - 0.45, -0.6)
    _percent_axis(axes)
    axes.set_xlabel("tasks solved, share of tries (pass@1)")
    return figure


def _model(axes: Axes, place: int, model: str, found: Mapping[str, Any]) -> None:
    colour, rate = TOKENS.get(model, TOKENS["ink"]), found["pass_at_1"]
    if rate is None:
        axes.text(0, place, "no try has an outcome", va="center", color=TOKENS["muted"])
        return
    if found["pass_hat_k"] is not None and found["pass_at_k"] is not None:
        axes.plot(
            [found["pass_hat_k"], found["pass_at_k"]], [place, place], color=TOKENS["band"], linewidth=14,
            solid_capstyle="butt",
        )  # fmt: skip
    axes.plot([found["ci_low"], found["ci_high"]], [place, place], color=colour, linewidth=2.6)
    axes.plot(rate, place, marker=MARKERS.get(model, "o"), markersize=9, color=colour, markeredgecolor=TOKENS["paper"])
    axes.annotate(
        f"{100 * rate:.0f} %", (rate, place), (0, 12), textcoords="offset points", ha="center", va="center",
        fontweight="bold", color=colour,
    )  # fmt: skip


def _dumbbell(axes: Axes, place: int, row: TemplateRow) -> None:
    if row.sft is None or row.rl is None:
        axes.text(0, place, "not measured", va="center", color=TOKENS["muted"])
        return
    colour = TOKENS["rl"] if row.rl >= row.sft else TOKENS["bad"]
    axes.plot(
        [row.sft, row.rl], [place, place], color=colour, linewidth=2.2, alpha=1 if row.verdict != "unclear" else 0.35
    )
    axes.plot(row.sft, place, marker=MARKERS["sft"], markersize=6, color=TOKENS["sft"], markeredgecolor=TOKENS["paper"])
    axes.plot(row.rl, place, marker=MARKERS["rl"], markersize=9, color=colour, markeredgecolor=TOKENS["paper"])


def _percent_axis(axes: Axes) -> None:
    axes.set_xlim(-0.02, 1.02)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.grid(axis="y", visible=False)


def _short(template: str) -> str:
    words = template.replace("_", " ")
    return words if len(words) <= _LONGEST_LABEL else f"{words[: _LONGEST_LABEL - 1]}\u2026"


def _spoken(models: Mapping[str, Mapping[str, Any]]) -> str:
    said = [
        f"{LABELS.get(model, model)} {100 * found['pass_at_1']:.0f} percent"
        for model, found in models.items()
        if found["pass_at_1"] is not None
    ]
    return f"Tasks solved at the first try: {', '.join(said)}"
