"""The stage `report` on a generated folder."""

from pathlib import Path

import pytest

from pipeline.params import load_params
from pipeline.stages.report import body
from pipeline.tables import read_json
from pipeline.tracking import Run
from tests.evaluation.workspace import lay_out

PROJECT = Path(__file__).parents[2]
OUTS = ("reports/index.html", "reports/summary.svg", "metrics/eval.json")


def test_writes_the_comparison_the_page_and_the_chart_twice_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, tasks=12, tries=4)
    params = load_params(PROJECT / "params.yaml")
    params = params.model_copy(update={"evaluate": params.evaluate.model_copy(update={"tries": 4, "bootstrap": 200})})
    body(params, Run())
    found = read_json(Path("metrics/eval.json"))
    assert set(found) == {"models", "differences", "valid", "outside"}
    assert set(found["models"]) == set(found["valid"]["models"]) == {"base", "sft", "rft", "rl"}
    assert set(found["models"]["rl"]) == {
        "pass_at_1", "pass_at_k", "pass_hat_k", "process", "ci_low", "ci_high", "n", "k",
    }  # fmt: skip
    assert set(found["differences"]) == {"rl_sft", "rl_rft", "rft_sft", "sft_base"}
    assert set(found["differences"]["rl_sft"]) == {"mean", "ci_low", "ci_high"}
    assert set(found["outside"]["all"]["differences"]) == {"rl_base", "rl_sft", "sft_base"}
    first = [Path(out).read_bytes() for out in OUTS]
    body(params, Run())
    assert [Path(out).read_bytes() for out in OUTS] == first
