"""The figures that metrics files hold."""

from math import nan

import pytest

from pipeline.evaluation.by_grade import grade_rows
from pipeline.evaluation.metrics import collect
from pipeline.evaluation.summary import compare, summarise
from pipeline.params import EvaluateParams
from pipeline.records import Grade
from pipeline.rows import grades_to_json
from tests.evaluation.rollouts import group, row

PARAMS = EvaluateParams(tries=4, k=2, bootstrap=200, confidence=0.95)


def test_figures_by_hand() -> None:
    found = summarise(collect([*group("a", [1, 0, 0, 0]), *group("b", [1, 1, 1, None], "fire")], 1.0), PARAMS, 1)
    assert found["pass_at_1"] == pytest.approx((0.25 + 1) / 2)
    assert found["pass_at_k"] == pytest.approx((0.5 + 1) / 2)
    assert found["pass_hat_k"] == pytest.approx((0 + 1) / 2)
    assert (found["n"], found["k"], found["tasks"], found["missing_tasks"]) == (4, 2, 2, 0)
    assert (found["null_rollouts"], found["null_rate"]) == (1, 0.125)
    assert found["stop_reasons"] == {"environment_error": 1, "finished": 7}
    assert found["by_template"]["fire"]["pass_at_1"] == 1.0


def test_missing_and_short_tasks_are_counted() -> None:
    found = summarise(collect([*group("a", [None, None]), *group("b", [1, None])], 1.0), PARAMS, 1)
    assert (found["missing_tasks"], found["tasks_below_k"], found["pass_at_1"]) == (1, 2, 1.0)
    assert (found["pass_at_k"], found["process"]) == (None, None)


def test_process_is_the_mean_over_tasks_of_the_mean_over_tries() -> None:
    rows = [row("a", 0, 1, 1.0), row("a", 1, 1, 0.0), row("b", 0, 1, 1.0), row("b", 1, 1, None)]
    assert summarise(collect(rows, 1.0), PARAMS, 1)["process"] == 0.75


def test_comparison_has_the_promised_keys() -> None:
    worse, better = (collect(group("a", outcomes), 1.0) for outcomes in ([0, 0, 1, 0], [1, 1, 1, 0]))
    found = compare({"base": worse, "sft": worse, "rft": worse, "rl": better}, PARAMS, 1)
    keys = {"pass_at_1", "pass_at_k", "pass_hat_k", "process", "ci_low", "ci_high", "n", "k"}
    assert all(set(found["models"][model]) == keys for model in ("base", "sft", "rft", "rl"))
    assert set(found["differences"]) == {"rl_sft", "rl_rft", "rft_sft", "sft_base"}
    assert found["differences"]["rl_sft"] == {"mean": 0.5, "ci_low": 0.5, "ci_high": 0.5}
    assert found["differences"]["sft_base"]["mean"] == 0.0


def test_every_grade_has_a_mean_and_a_share_of_nulls() -> None:
    grades = [
        [Grade("tone", "process", score, held_out=True), Grade("tone", "process", 0.0, turn=2)]
        for score in (0.5, 1.0, None, nan)
    ]
    rows = [row("a", number, 1) | {"grades": grades_to_json(tuple(one))} for number, one in enumerate(grades)]
    found = summarise(collect(rows, 1.0), PARAMS, 1)["grades"]
    assert found == {"tone": {"mean": 0.75, "null_rate": 0.5, "held_out": True}}
    (only,) = grade_rows([{}, found])
    assert (only.name, only.means, only.null_rate, only.held_out) == ("tone", (None, 0.75), 0.5, True)
