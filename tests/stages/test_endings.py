"""How a stage ends that is interrupted, and what `rl` says where train goes well and valid not at all."""

from pathlib import Path

import pytest

from pipeline.params import Params
from pipeline.stages.common import stage_main
from pipeline.stages.rl import Reporter, tell_absent, tell_gap
from pipeline.tracking import Run
from pipeline.training.rl import RlResult
from pipeline.training.rl_history import COLUMNS, HistoryRow, columns
from tests.training.rollouts import params


def interrupted(_params: Params, _run: Run) -> None:
    raise KeyboardInterrupt


def test_an_interrupted_stage_says_so_in_one_line(
    params_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(params_file.parent)
    monkeypatch.setattr("pipeline.stages.common.stage_run", lambda _stage, _params: NoRun())
    with pytest.raises(SystemExit) as raised:
        stage_main("sft", interrupted)
    assert raised.value.code == 130
    assert capsys.readouterr().err == "sft: stopped; run it again and it goes on from its last checkpoint\n"


class NoRun:
    """A run that is tracked nowhere."""

    def __enter__(self) -> Run:
        return Run()

    def __exit__(self, *_: object) -> None:
        return


def result(outcome: float, valid: float) -> RlResult:
    rows: list[HistoryRow] = [dict.fromkeys(COLUMNS) | {"step": step, "outcome": outcome} for step in (0, 1)]
    return RlResult(Path(), 0, valid, rows)


def test_rl_warns_where_only_train_is_solved(capsys: pytest.CaptureFixture[str]) -> None:
    tell_gap(result(0.5, 0.1))
    tell_gap(result(0.05, 0.0))
    assert capsys.readouterr().out == ""
    tell_gap(result(0.5, 0.0))
    assert "warning: outcome 0.50 on train tasks, but nothing is solved on valid" in capsys.readouterr().out


def test_a_step_before_which_all_tasks_were_tried_anew_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter(params(rl={"groups": 1, "steps": 9}), Run())
    row = dict.fromkeys(columns(["claims"])) | {"step": 2, "groups": 1, "max_turns": 8, "reprofiled": 0}
    reporter(row)
    reporter(row | {"step": 3, "reprofiled": 24})
    before, after = capsys.readouterr().out.splitlines()
    assert "reprofiled" not in before
    assert after.endswith("groups 1  max_turns 8  reprofiled by 24 rollouts")


def test_rl_warns_of_a_share_that_nothing_can_take(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = params()
    tell_absent(wanted, ["claims"])
    shares = wanted.rl.sampler.model_copy(update={"mixture": {"claims": 1.0, "orders": 2.0}})
    wanted = wanted.model_copy(update={"rl": wanted.rl.model_copy(update={"sampler": shares})})
    tell_absent(wanted, ["claims", "orders"])
    assert capsys.readouterr().out == ""
    tell_absent(wanted, ["claims"])
    assert "warning: rl.sampler.mixture gives orders a share, but `filter` kept no task" in capsys.readouterr().out
