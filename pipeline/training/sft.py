"""Supervised fine-tuning on the agent's own tokens, with TRL's SFTTrainer.

Rows come as exact token ids with a mask, as `Harness.encode` makes them; nothing is rendered or truncated here. Rows of
like length share a batch. The run can be killed at any step and started again: it goes on from the last checkpoint
and ends with the same weights, bit for bit on a CPU.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch.nn import functional
from transformers import PreTrainedModel, PreTrainedTokenizerBase, Trainer
from transformers.trainer_callback import PrinterCallback
from trl import SFTConfig, SFTTrainer

from pipeline.errors import EmptyOutputError, MaskError
from pipeline.params import SftParams
from pipeline.training.batches import plan, steps
from pipeline.training.muon import Muon
from pipeline.training.watch import Look, Report, Watch, latest_checkpoint

IGNORED = -100
"""Label of a token outside the loss."""
FALLING = 0.05
"""Share by which the valid loss falls up to the last look of a run that should have gone on."""
_CHECKPOINTED_ABOVE = 100_000_000
"""Parameters above which activations are recomputed instead of kept."""


@dataclass(frozen=True, slots=True)
class TokenRow:
    """One conversation: token ids and a mask of equal length, 1 on tokens that the loss falls on."""

    ids: Sequence[int]
    mask: Sequence[int]


@dataclass(frozen=True, slots=True)
class SftResult:
    """What a run came to; the model it was given holds the weights of `best`."""

    best: Look
    curve: list[Look]
    steps: int
    epochs: float
    trained_tokens: int
    """Tokens that the loss fell on, each counted as often as it was seen."""

    @property
    def unfinished(self) -> bool:
        """Whether the last look was clearly better than all before it; without valid rows nothing tells."""
        losses = [look.valid_loss for look in self.curve if look.valid_loss is not None]
        return len(losses) > 1 and losses[-1] < (1 - FALLING) * min(losses[:-1])


class AgentTrainer(SFTTrainer):
    """SFTTrainer that projects only the trained positions onto the vocabulary.

    TRL's fused head does the same on GPUs; on a CPU it scores every position, and its entropy and accuracy cost more
    than the tiny model itself. Rows are padded on the right, so causal attention needs no padding mask.
    """

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Sum of negative log-likelihoods of the trained tokens over their number in the whole optimiser step."""
        if return_outputs or self.accelerator.num_processes > 1 or torch.cuda.is_available():
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)  # type: ignore[no-untyped-call]
        total = agent_nll(self.accelerator.unwrap_model(model), inputs["input_ids"], inputs["labels"])
        return total / num_items_in_batch

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        Trainer._save_checkpoint(self, model, trial)  # TRL's own adds a model card


def agent_nll(model: PreTrainedModel, ids_BT: torch.Tensor, labels_BT: torch.Tensor) -> torch.Tensor:
    """Summed negative log-likelihood, in nats, of the tokens whose label is not IGNORED."""
    hidden = model.base_model(input_ids=ids_BT, use_cache=False).last_hidden_state[:, :-1]
    targets = labels_BT[:, 1:]
    trained = targets != IGNORED
    logits = model.get_output_embeddings()(hidden[trained])
    return functional.cross_entropy(logits.float(), targets[trained], reduction="sum")


def train_sft(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, rows: Sequence[TokenRow],
    valid_rows: Sequence[TokenRow], params: SftParams, *, seed: int, work: Path, report: Report,
    measure: Callable[[], float] | None = None,
) -> SftResult:  # fmt: skip
    """Train `model` in place; it ends with the weights of the lowest valid loss (of the last step without valid rows).

    `work` is this run's own folder: what a kill leaves there is resumed from, so name it by all that the run hangs on.
    `report(step, {"train_loss", "valid_loss"})` is called at each look. `measure`, lower being better, takes the
    place of the loss on `valid_rows`; it reads the live model. Raises EmptyOutputError without rows, MaskError for a
    row without a trained token, ModelError when the loss is no longer finite.
    """
    if not rows:
        raise EmptyOutputError("there is no row to train on; see metrics/curate.json for what was left out")
    for row in (*rows, *valid_rows):
        _check(row)
    order = plan([len(row.ids) for row in rows], params.batch_size, params.epochs, seed)
    if measure is None and valid_rows:
        measure = partial(valid_loss, model, valid_rows, params.batch_size)
    work.mkdir(parents=True, exist_ok=True)
    watch = Watch(measure, params.eval_every, params.patience, work / "best.safetensors", report)
    trainer = AgentTrainer(
        model=model, args=_config(params, len(rows), seed, work, model.num_parameters()), callbacks=[watch],
        train_dataset=_dataset(rows).select(order), processing_class=tokenizer,
        optimizers=(_optimizer(model, params), None),
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    checkpoint = latest_checkpoint(work)
    if checkpoint is not None:
        watch.recall(checkpoint)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    done = int(trainer.state.global_step)
    watch.restore_best(model)
    model.eval()
    seen = order[: done * params.batch_size]
    trained = sum(sum(rows[row].mask) for row in seen)
    return SftResult(watch.best, watch.curve, done, round(len(seen) / len(rows), 4), trained)


@torch.no_grad()
def valid_loss(model: PreTrainedModel, rows: Sequence[TokenRow], batch_size: int) -> float:
    """Mean negative log-likelihood a trained token, in nats."""
    training = model.training
    model.eval()
    ordered = sorted(rows, key=lambda row: len(row.ids))
    total = 0.0
    for start in range(0, len(ordered), batch_size):
        batch = ordered[start : start + batch_size]
        longest = max(len(row.ids) for row in batch)
        ids = torch.tensor([[*row.ids, *[0] * (longest - len(row.ids))] for row in batch], device=model.device)
        labels = torch.tensor([[*_labels(row), *[IGNORED] * (longest - len(row.ids))] for row in batch])
        total += agent_nll(model, ids, labels.to(model.device)).item()
    model.train(training)
    return total / sum(sum(row.mask) for row in rows)


def _config(params: SftParams, rows: int, seed: int, work: Path, parameters: int) -> SFTConfig:
    total = steps(rows, params.batch_size, params.epochs)
    return SFTConfig(
        output_dir=str(work), use_cpu=not torch.cuda.is_available(), bf16=False, seed=seed, data_seed=seed,
        per_device_train_batch_size=params.batch_size, max_steps=total, learning_rate=params.learning_rate,
        warmup_steps=round(params.warmup * total), weight_decay=params.weight_decay, lr_scheduler_type="linear",
        train_sampling_strategy="sequential", dataset_kwargs={"skip_prepare_dataset": True}, max_length=None,
        gradient_checkpointing=parameters > _CHECKPOINTED_ABOVE, dataloader_pin_memory=False,
        logging_steps=1, logging_nan_inf_filter=False, save_strategy="steps", save_steps=params.checkpoint_every,
        save_total_limit=2, eval_strategy="no", report_to="none", disable_tqdm=True,
    )  # fmt: skip


def _optimizer(model: PreTrainedModel, params: SftParams) -> torch.optim.Optimizer | None:
    """None lets the trainer make AdamW."""
    if params.optimizer == "adamw":
        return None
    return Muon(model.named_parameters(), muon_lr=params.matrix_rate, adam_lr=params.learning_rate)


def _dataset(rows: Sequence[TokenRow]) -> Dataset:
    return Dataset.from_dict({"input_ids": [list(row.ids) for row in rows], "labels": [_labels(row) for row in rows]})


def _labels(row: TokenRow) -> list[int]:
    return [token if trained else IGNORED for token, trained in zip(row.ids, row.mask, strict=True)]


def _check(row: TokenRow) -> None:
    if len(row.ids) != len(row.mask):
        raise MaskError(f"a row has {len(row.ids)} tokens but a mask of {len(row.mask)}; encode it again")
    if not any(row.mask[1:]):
        raise MaskError("a row has no token that the loss could fall on; leave it out or mend the chat template")
