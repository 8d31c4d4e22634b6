"""The suite outside in the report: a table of its own, and plain words on what was forgotten."""

from pathlib import Path

from pipeline.evaluation.inputs import load_inputs
from pipeline.evaluation.intervals import Bootstrap
from pipeline.evaluation.metrics import TaskScores, collect
from pipeline.evaluation.outside import outside_json, outside_rows, outside_sentence
from tests.evaluation.rollouts import group
from tests.evaluation.test_page import page
from tests.evaluation.workspace import lay_out

HOW = Bootstrap(200, 0.95, 1)


def scores(copying: float, tools: float) -> TaskScores:
    """Three tasks of each kind, two tries each, always `copying` or `tools` right."""
    rows = [
        row
        for number in range(3)
        for kind, right in (("copying", copying), ("tools", tools))
        for row in group(f"{kind}-{number}", [right, right], kind)
    ]
    return collect(rows, 1.0)


def models(**rates: tuple[float, float]) -> dict[str, TaskScores]:
    """Scores by model."""
    return {model: scores(*found) for model, found in rates.items()}


def test_every_kind_has_a_row_with_paired_differences() -> None:
    rows = outside_rows(models(base=(1.0, 1.0), sft=(1.0, 0.0), rl=(0.0, 0.0)), HOW)
    assert [(row.kind, row.tasks, row.rates["sft"]) for row in rows] == [
        ("all", 6, 0.5), ("copying", 3, 1.0), ("tools", 3, 0.0),
    ]  # fmt: skip
    changes = {row.kind: {name: found.mean for name, found in row.differences.items()} for row in rows}
    assert changes["tools"] == {"rl_base": -1.0, "rl_sft": 0.0, "sft_base": -1.0}
    assert outside_json(rows)["copying"]["differences"]["rl_base"] == {"mean": -1.0, "ci_low": -1.0, "ci_high": -1.0}
    assert outside_sentence(rows).startswith("Training made it forget: after RL it does worse than base: 100")


def test_a_base_that_solves_nothing_has_nothing_to_forget() -> None:
    nothing = (0.0, 0.0)
    said = outside_sentence(outside_rows(models(base=nothing, sft=nothing, rl=nothing), HOW))
    assert said == "The base model solves none of these tasks, so nothing can be seen to be forgotten."


def test_it_is_never_part_of_the_figures_on_eval(tmp_path: Path) -> None:
    lay_out(tmp_path / "with", tasks=12, tries=4)
    lay_out(tmp_path / "without", tasks=12, tries=4, outside=0)
    assert load_inputs(tmp_path / "without", 1.0).outside["rl"].tries == ()
    shown, off = page(tmp_path / "with"), page(tmp_path / "without")
    assert 'id="outside"' in shown
    start, end = shown.index('<section id="outside">'), shown.index('<section id="learning">')
    link = '<a href="#outside">Forgotten?</a>'
    assert (shown[:start] + shown[end:]).replace(link, "") == off
