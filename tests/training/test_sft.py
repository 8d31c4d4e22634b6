import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.errors import EmptyOutputError, MaskError, ModelError
from pipeline.params import SftParams
from pipeline.rollouts.harnesses import Harnesses
from pipeline.training.loading import load_model, load_tokenizer
from pipeline.training.sft import IGNORED, SftResult, TokenRow, agent_nll, train_sft, valid_loss
from pipeline.training.watch import MEMORY, Look, latest_checkpoint
from tests.training import tiny

PARAMS = SftParams(
    epochs=3, batch_size=8, optimizer="muon", matrix_rate=0.02, learning_rate=1e-2, warmup=0.1, weight_decay=0.01,
    eval_every=4, patience=9, checkpoint_every=3,
)  # fmt: skip
GOES_WRONG: dict[str, Any] = {
    "epochs": 6, "optimizer": "adamw", "learning_rate": 0.5, "warmup": 0.5, "eval_every": 2, "patience": 2,
}  # fmt: skip
"""The learning rate rises until the loss does."""


class Killed(Exception):
    """Stands for a kill: raised in the middle of a run, caught by the test only."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make(tmp_path_factory.mktemp("tiny") / "base")


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    return load_tokenizer(folder)


@pytest.fixture(scope="module")
def rows(tokenizer: PreTrainedTokenizerBase) -> list[TokenRow]:
    return tiny.rows(Harnesses(tokenizer), 40)


@pytest.fixture(scope="module")
def held_back(tokenizer: PreTrainedTokenizerBase) -> list[TokenRow]:
    return tiny.rows(Harnesses(tokenizer), 12, first=100)


class Runner:
    """Trains fresh copies of one model."""

    def __init__(self, folder: Path, rows: Sequence[TokenRow], valid: Sequence[TokenRow]) -> None:
        self._folder, self._rows, self._valid = folder, rows, valid
        self.reports: list[tuple[int, dict[str, float]]] = []

    def __call__(self, work: Path, kill_at: int | None = None, **changes: Any) -> tuple[PreTrainedModel, SftResult]:
        """One run under `work`; `kill_at` breaks it off at the first look from that step on."""

        def report(step: int, losses: dict[str, float]) -> None:
            self.reports.append((step, losses))
            if kill_at is not None and step >= kill_at:
                raise Killed

        model, tokenizer = load_model(self._folder), load_tokenizer(self._folder)
        params = PARAMS.model_copy(update=changes)
        result = train_sft(model, tokenizer, self._rows, self._valid, params, seed=1, work=work, report=report)
        return model, result


@pytest.fixture
def runner(folder: Path, rows: list[TokenRow], held_back: list[TokenRow]) -> Runner:
    return Runner(folder, rows, held_back)


def same_weights(left: PreTrainedModel, right: PreTrainedModel) -> bool:
    pairs = zip(left.state_dict().values(), right.state_dict().values(), strict=True)
    return all(torch.equal(one, other) for one, other in pairs)


def test_it_learns_and_keeps_the_best(runner: Runner, held_back: list[TokenRow], tmp_path: Path) -> None:
    model, result = runner(tmp_path / "run")
    first, best = result.curve[0], result.best
    assert (first.step, first.train_loss, result.steps, result.epochs) == (0, None, 15, 3.0)
    assert first.valid_loss is not None
    assert best.valid_loss is not None
    assert best.valid_loss < 0.6 * first.valid_loss
    assert best.valid_loss == min(look.valid_loss or 9.0 for look in result.curve)
    assert valid_loss(model, held_back, 8) == pytest.approx(best.valid_loss, rel=1e-6)
    assert [step for step, _ in runner.reports] == [look.step for look in result.curve] == [0, 4, 8, 12, 15]


def test_early_stopping_leaves_the_weights_before_they_went_wrong(runner: Runner, tmp_path: Path) -> None:
    _, result = runner(tmp_path / "run", **GOES_WRONG)
    last = result.curve[-1].step
    assert result.steps == last < 30
    looks = [look.step for look in result.curve]
    assert looks.index(last) - looks.index(result.best.step) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("optimizer", "kill_at"), [("muon", 4), ("muon", 12), ("adamw", 8)])
def test_a_killed_run_ends_with_the_same_bits(runner: Runner, tmp_path: Path, optimizer: str, kill_at: int) -> None:
    whole, expected = runner(tmp_path / "whole", optimizer=optimizer)
    with pytest.raises(Killed):
        runner(tmp_path / "broken", kill_at=kill_at, optimizer=optimizer)
    seen = len(runner.reports)
    resumed, result = runner(tmp_path / "broken", optimizer=optimizer)
    assert same_weights(whole, resumed)
    assert result == expected
    assert runner.reports[seen][0] > 0, "the second run began anew"


@pytest.mark.slow
def test_a_run_stopped_early_stops_there_again(runner: Runner, tmp_path: Path) -> None:
    whole, expected = runner(tmp_path / "whole", **GOES_WRONG)
    with pytest.raises(Killed):
        runner(tmp_path / "broken", kill_at=expected.steps, **GOES_WRONG)
    resumed, result = runner(tmp_path / "broken", **GOES_WRONG)
    assert same_weights(whole, resumed)
    assert result == expected


@pytest.mark.slow
def test_a_checkpoint_cut_off_by_a_kill_is_not_resumed_from(runner: Runner, tmp_path: Path) -> None:
    whole, expected = runner(tmp_path / "whole")
    with pytest.raises(Killed):
        runner(tmp_path / "broken", kill_at=12)
    newest = latest_checkpoint(tmp_path / "broken")
    assert newest is not None
    (newest / MEMORY).unlink()
    (newest / "optimizer.pt").write_bytes(b"half")
    resumed, result = runner(tmp_path / "broken")
    assert same_weights(whole, resumed)
    assert result == expected


def test_without_valid_rows_the_last_step_stands(folder: Path, rows: list[TokenRow], tmp_path: Path) -> None:
    _, result = Runner(folder, rows, [])(tmp_path / "run", epochs=1)
    assert (result.best.step, result.best.valid_loss, result.steps) == (5, None, 5)
    assert result.trained_tokens == sum(sum(row.mask) for row in rows)


def test_the_loss_falls_on_the_agents_tokens_only(folder: Path, rows: list[TokenRow]) -> None:
    model, row = load_model(folder), rows[0]
    ids = torch.tensor([row.ids])
    labels = torch.where(torch.tensor([row.mask]).bool(), ids, IGNORED)
    logps = torch.log_softmax(model(ids).logits[0], dim=-1)
    expected = -sum(logps[at - 1, row.ids[at]].item() for at, own in enumerate(row.mask) if own)
    assert agent_nll(model, ids, labels).item() == pytest.approx(expected, rel=1e-5)
    assert row.ids[len(row.mask) - 1 - row.mask[::-1].index(1)] == model.config.eos_token_id


def test_padding_changes_no_loss(folder: Path, tokenizer: PreTrainedTokenizerBase, rows: list[TokenRow]) -> None:
    model = load_model(folder)
    long = TokenRow(list(rows[0].ids) * 2, list(rows[0].mask) * 2)
    alone = [valid_loss(model, [row], 1) * sum(row.mask) for row in (rows[1], long)]
    together = valid_loss(model, [rows[1], long], 2) * (sum(rows[1].mask) + sum(long.mask))
    assert together == pytest.approx(sum(alone), rel=1e-5)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([], EmptyOutputError, "there is no row to train on"),
        ([TokenRow([1, 2, 3], [0, 0, 0])], MaskError, "no token that the loss could fall on"),
        ([TokenRow([1, 2, 3], [1, 0, 0])], MaskError, "no token that the loss could fall on"),
        ([TokenRow([1, 2, 3], [0, 1])], MaskError, "3 tokens but a mask of 2"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(
    folder: Path, tmp_path: Path, rows: list[TokenRow], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Runner(folder, rows, [])(tmp_path / "run")


def test_a_loss_that_is_no_number_ends_the_run(runner: Runner, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="the loss is nan at step"):
        runner(tmp_path / "run", optimizer="adamw", learning_rate=math.inf)


@pytest.mark.parametrize(
    ("losses", "unfinished"),
    [
        ([3.0, 0.2, 0.18], True),
        ([3.0, 0.2, 0.199], False),
        ([3.0, 0.1, 0.2], False),
        ([3.0, 0.15, 0.2, 0.16], False),
        ([3.0], False),
        ([None, None], False),
    ],
)
def test_a_run_that_should_have_gone_on_is_known_by_its_last_look(losses: list[float | None], unfinished: bool) -> None:
    curve = [Look(step, None, loss) for step, loss in enumerate(losses)]
    assert SftResult(curve[-1], curve, len(curve), 1.0, 10).unfinished is unfinished
