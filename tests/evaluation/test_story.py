"""The words: better, worse and unclear are said as they were measured."""

import pytest

from pipeline.evaluation.charts import TemplateRow
from pipeline.evaluation.intervals import Bootstrap
from pipeline.evaluation.metrics import collect
from pipeline.evaluation.story import headline, percent, points, span, template_rows, template_sentence
from tests.evaluation.rollouts import group

HOW = Bootstrap(200, 0.95, 1)


def told(rate: float | None, mean: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """Sentence and tone for an RL pass@1 and its difference from SFT."""
    gain = {"mean": mean, "ci_low": low, "ci_high": high}
    found = headline({"models": {"rl": {"pass_at_1": rate}}, "differences": {"rl_sft": gain, "rl_rft": gain}}, 0.95)
    return found.sentence.replace("\u202f", " "), found.tone


@pytest.mark.parametrize(
    ("figures", "sentence", "tone"),
    [
        ((0.634, 0.241, 0.19, 0.29), "solves 63 % of unseen tasks, 24 points more than the SFT model", "better"),
        ((0.3, -0.08, -0.12, -0.03), "solves 30 % of unseen tasks, 8 points fewer than the SFT model", "worse"),
        ((0.4, 0.02, -0.01, 0.05), "solves 40 % of unseen tasks, no sure difference from the SFT model", "unclear"),
        ((None, None, None, None), "No comparison could be made", "unclear"),
    ],
)
def test_headline(figures: tuple[float | None, ...], sentence: str, tone: str) -> None:
    said, kind = told(*figures)
    assert sentence in said
    assert kind == tone


def test_numbers_as_text() -> None:
    assert (percent(0.634), percent(0.634, 1), percent(None)) == ("63\u202f%", "63.4\u202f%", "\u2013")
    assert (points(0.241), points(-0.05), points(None)) == ("+24.1", "\u22125.0", "\u2013")
    assert span(0.58, 0.67) == "58 to 67\u202f%"


def test_templates_are_ordered_by_gain_with_the_unmeasured_last() -> None:
    sft = collect([*group("a", [0], "fire"), *group("b", [1], "theft"), *group("c", [None], "storm")], 1.0)
    rl = collect([*group("a", [1], "fire"), *group("b", [0], "theft"), *group("c", [1], "storm")], 1.0)
    rows = template_rows(sft, rl, HOW)
    assert [(row.template, row.difference, row.verdict) for row in rows] == [
        ("fire", 1.0, "better"), ("theft", -1.0, "worse"), ("storm", None, "unclear"),
    ]  # fmt: skip


def test_what_became_worse_is_named() -> None:
    rows = [
        TemplateRow("fire", 3, 0.1, 0.5, 0.4, 0.1, 0.6),
        TemplateRow("below_deductible", 3, 0.5, 0.1, -0.4, -0.6, -0.1),
    ]
    assert template_sentence(rows) == (
        "Surely better in 1 of 2 templates, surely worse in 1 (below deductible), not sure in 0."
    )
