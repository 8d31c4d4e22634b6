"""Do graders and people agree? Shares, Cohen's kappa and the confusion, in numbers and as one picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from pipeline.evaluation.labelled import Judged, grade_labelled
from pipeline.evaluation.labels import read_labels
from pipeline.evaluation.svg import TOKENS, canvas, drawing, standalone
from pipeline.grader_params import GraderEntry
from pipeline.graders.reward import passed
from pipeline.tables import whole_file

CELLS = (
    ("both_pass", "both pass", "rl", ""), ("both_fail", "both fail", "sft", ""),
    ("lenient", "only the grader passes", "bad", ""), ("strict", "only people pass", "bad", "////"),
    ("null", "no grade", "band", ""),
)  # fmt: skip
"""Parts of a bar: attribute of `Agreement`, legend, colour, hatching."""
_WIDTH = 620


@dataclass(frozen=True, slots=True)
class Agreement:
    """Verdicts of one grader beside those of people: how many of each pair. Nulls take no part in the shares."""

    grader: str
    both_pass: int
    both_fail: int
    lenient: int
    """The grader passes what people fail."""
    strict: int
    """The grader fails what people pass."""
    null: int
    """The grader had no verdict."""

    @property
    def judged(self) -> int:
        """Labels that have a verdict of the grader."""
        return self.both_pass + self.both_fail + self.lenient + self.strict

    @property
    def share(self) -> float | None:
        """Share of equal verdicts; None without any."""
        return (self.both_pass + self.both_fail) / self.judged if self.judged else None

    @property
    def kappa(self) -> float | None:
        """Agreement beyond chance (Cohen 1960): (observed - expected) / (1 - expected).

        None without a verdict, and where both always say the same one thing, so that chance explains all.
        """
        if not self.judged:
            return None
        people = (self.both_pass + self.strict) / self.judged
        grader = (self.both_pass + self.lenient) / self.judged
        expected = people * grader + (1 - people) * (1 - grader)
        observed = (self.both_pass + self.both_fail) / self.judged
        return (observed - expected) / (1 - expected) if expected < 1 else None


def calibrate(labels: Path, graders: Sequence[GraderEntry], plot: Path, *, anew: bool, show: int) -> str:
    """Compare `graders` with the labels, draw the picture, and say in words what was found.

    `anew` as in `grade_labelled`; at most `show` disagreements are told. Raises InputError.
    """
    judged = grade_labelled(read_labels(labels), graders, anew=anew)
    rows, odd = compare(judged), disagreements(judged)
    with whole_file(plot, "w") as stream:
        stream.write(picture(rows))
    told = odd[:show] + ([f"and {len(odd) - show} more; --show {len(odd)} tells all"] if show < len(odd) else [])
    return "\n".join([table(rows), "", *told, *([""] if told else []), f"agreement  {plot}: open it in a browser"])


def compare(judged: Sequence[Judged]) -> list[Agreement]:
    """One row a grader, in the order in which labels name them first."""
    return [
        _agreement(name, [(one.label.passed, passed(one.grade)) for one in judged if one.label.grader == name])
        for name in dict.fromkeys(one.label.grader for one in judged)
    ]


def table(rows: Sequence[Agreement]) -> str:
    """The rows as text for a terminal."""
    head = (
        "grader",
        "labels",
        "no grade",
        "agreement",
        "kappa",
        "both pass",
        "both fail",
        "only grader",
        "only people",
    )
    lines = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) if place else cell.ljust(width)
                  for place, (cell, width) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    )  # fmt: skip


def disagreements(judged: Sequence[Judged]) -> list[str]:
    """A line for each label that the grader contradicts: where it stands, the episode, and the grader's reason."""
    return [
        f"{one.label.where}: {one.label.episode}: people say {_word(one.label.passed)}, {one.label.grader} says "
        f"{_word(not one.label.passed)} ({one.grade.score:.2f}): {' '.join(one.grade.reason.split())}"
        for one in judged
        if passed(one.grade) is not None and passed(one.grade) != one.label.passed
    ]


def picture(rows: Sequence[Agreement]) -> str:
    """A bar for each grader, its parts the cells of the confusion, as an SVG file."""
    with drawing():
        figure, (axes,) = canvas(_WIDTH, 90 + 40 * len(rows))
        for place, row in enumerate(rows):
            _bar(axes, place, row)
        axes.set_yticks(range(len(rows)), [row.grader for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
        axes.grid(axis="y", visible=False)
        handles, labels = axes.get_legend_handles_labels()
        known = dict(zip(labels, handles, strict=True))
        figure.legend(list(known.values()), list(known), loc="outside lower center", ncols=3)
        said = [f"{row.grader} {_figure(row.share)}" for row in rows]
        return standalone(figure, f"Agreement of graders with people: {', '.join(said)}")


def _bar(axes: Axes, place: int, row: Agreement) -> None:
    total, left = row.judged + row.null, 0.0
    for name, label, colour, hatch in CELLS:
        count: int = getattr(row, name)
        width = count / total
        axes.barh(
            place, width, left=left, height=0.5, color=TOKENS[colour], hatch=hatch, edgecolor=TOKENS["paper"],
            linewidth=1, label=label,
        )  # fmt: skip
        if count:
            ink = TOKENS["ink"] if name == "null" else TOKENS["paper"]
            ground = {"facecolor": TOKENS[colour], "edgecolor": "none", "pad": 1.5}
            axes.text(left + width / 2, place, str(count), ha="center", va="center", color=ink, bbox=ground)
        left += width
    said = f"agreement {_figure(row.share)}, kappa {_figure(row.kappa)}"
    axes.text(1, place - 0.32, said, ha="right", va="bottom", color=TOKENS["muted"], fontsize=10)


def _agreement(name: str, pairs: Sequence[tuple[bool, bool | None]]) -> Agreement:
    return Agreement(
        name, pairs.count((True, True)), pairs.count((False, False)), pairs.count((False, True)),
        pairs.count((True, False)), sum(found is None for _, found in pairs),
    )  # fmt: skip


def _cells(row: Agreement) -> tuple[str, ...]:
    counts = (row.both_pass, row.both_fail, row.lenient, row.strict)
    figures = (_figure(row.share), _figure(row.kappa))
    return row.grader, str(row.judged + row.null), str(row.null), *figures, *map(str, counts)


def _figure(value: float | None) -> str:
    return "\u2013" if value is None else f"{value:.2f}"


def _word(verdict: bool) -> str:
    return "pass" if verdict else "fail"
