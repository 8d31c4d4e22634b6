"""Figures by environment: each counts the same, none hides another's, and one alone is shown as before."""

from pathlib import Path

import pytest

from pipeline.evaluation.by_environment import environments, only
from pipeline.evaluation.curves import environments as environment_curves
from pipeline.evaluation.inputs import load_inputs
from pipeline.evaluation.metrics import collect
from pipeline.evaluation.page import render
from pipeline.evaluation.summary import compare, compare_environments, summarise
from pipeline.params import EvaluateParams
from tests.evaluation.rollouts import group
from tests.evaluation.workspace import HOSTILE, lay_out

PARAMS = EvaluateParams(tries=4, k=2, bootstrap=200, confidence=0.95)
ROWS = [
    *group("a", [1, 0, 0, 0]), *group("b", [1, 1, 1, None], "fire"), *group("c", [0, 0, 0, 0]),
    *group("d", [1, 1, None, None], "theft", "orders"),
]  # fmt: skip


def test_one_environments_scores_are_those_of_its_tasks() -> None:
    scores = collect(ROWS, 1.0)
    assert environments(scores) == ["claims", "orders"]
    orders = only(scores, "orders")
    assert (orders.task_ids, orders.graded_T.tolist(), orders.numbers) == (("d",), [2], ((0, 1, 2, 3),))
    assert [one.environment for one in orders.tries] == ["orders"] * 4
    alone = collect(ROWS[:12], 1.0)
    again = only(scores, "claims")
    assert (again.task_ids, again.tries) == (alone.task_ids, alone.tries)


def test_figures_by_hand() -> None:
    found = summarise(collect(ROWS, 1.0), PARAMS, 1)
    claims, orders = found["by_environment"]["claims"], found["by_environment"]["orders"]
    assert claims["pass_at_1"] == pytest.approx((0.25 + 1 + 0) / 3, abs=1e-6)
    assert (orders["pass_at_1"], orders["tasks"], orders["null_rate"]) == (1.0, 1, 0.5)
    assert found["environment_mean"] == pytest.approx((claims["pass_at_1"] + 1) / 2, abs=1e-6)
    assert found["pass_at_1"] == pytest.approx((0.25 + 1 + 0 + 1) / 4)


def test_templates_of_one_name_are_told_apart_only_where_there_are_several_environments() -> None:
    assert set(summarise(collect(ROWS, 1.0), PARAMS, 1)["by_template"]) == {
        "claims: fire",
        "claims: theft",
        "orders: theft",
    }
    assert set(summarise(collect(ROWS[:12], 1.0), PARAMS, 1)["by_template"]) == {"fire", "theft"}


def test_models_are_compared_within_each_environment() -> None:
    worse = [row | {"grades": ROWS[-1]["grades"]} if row["environment"] == "orders" else row for row in ROWS]
    models = {"sft": collect(worse, 1.0), "rl": collect(ROWS, 1.0)}
    found = compare_environments(models, PARAMS, 1)
    assert found["environments"]["claims"]["differences"]["rl_sft"]["mean"] == 0.0
    assert found["environments"]["orders"]["models"]["sft"]["pass_at_1"] is None
    assert found["environment_mean"]["sft"] == found["environments"]["claims"]["models"]["sft"]["pass_at_1"]
    assert compare_environments({"rl": collect(ROWS[:12], 1.0)}, PARAMS, 1) == {}


def test_the_page_shows_each_environment_and_its_curve(tmp_path: Path) -> None:
    lay_out(tmp_path, tasks=6, tries=2, hostile=HOSTILE, environments=("claims", "orders"))
    inputs = load_inputs(tmp_path, 1.0)
    page = render(inputs, compare(inputs.scores["eval"], PARAMS, 1), PARAMS, 1, 1.0)
    assert "pass@1 by environment" in page
    assert "mean over environments" in page
    assert "without a grade, orders" in page
    assert "Practice, environment by environment" in page
    lay_out(tmp_path, tasks=6, tries=2)
    inputs = load_inputs(tmp_path, 1.0)
    page = render(inputs, compare(inputs.scores["eval"], PARAMS, 1), PARAMS, 1, 1.0)
    assert "environment by environment" not in page
    assert "by environment" not in page


def test_more_environments_than_colours_are_all_drawn() -> None:
    drawn = environment_curves({f"world {n}": [(0.0, 0.1), (5.0, 0.1 * n)] for n in range(8)})
    assert all(f"world {n}" in drawn for n in range(8))
