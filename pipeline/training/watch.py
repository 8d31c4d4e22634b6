"""What watches a supervised run: the curve, the best model so far, early stopping, and what a resumed run must know.

Every number here is a function of the steps taken. A checkpoint carries the watch's memory beside the trainer's, and
that file is written last: a checkpoint without it was cut off by a kill and is not resumed from.
"""

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_model as load_weights
from safetensors.torch import save_model as save_weights
from transformers import PreTrainedModel, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from pipeline.errors import ModelError
from pipeline.tables import read_json, write_json

MEMORY = "watch.json"
Report = Callable[[int, dict[str, float]], None]


@dataclass(frozen=True, slots=True)
class Look:
    """One point of the curve; losses are nats a trained token, None where not measured."""

    step: int
    train_loss: float | None
    """Mean over the steps since the look before."""
    valid_loss: float | None


class Watch(TrainerCallback):
    """Looks every `every` steps and at the last one; stops after `patience` looks without a better valid loss."""

    def __init__(
        self, valid_loss: Callable[[], float] | None, every: int, patience: int, best_file: Path, report: Report
    ) -> None:
        """`valid_loss` None: there is nothing to measure, the last model is the best. `best_file` holds weights."""
        self._valid_loss, self._every, self._patience = valid_loss, every, patience
        self._best_file, self._report = best_file, report
        self.curve: list[Look] = []
        self._recent: list[float] = []

    @property
    def best(self) -> Look:
        """The look with the lowest valid loss, the earliest of equals; without valid rows the last one."""
        measured = [look for look in self.curve if look.valid_loss is not None]
        return min(measured, key=lambda look: look.valid_loss or 0.0) if measured else self.curve[-1]

    def recall(self, checkpoint: Path) -> None:
        """Take over the memory of a checkpoint."""
        memory = read_json(checkpoint / MEMORY)
        self.curve = [Look(**look) for look in memory["curve"]]
        self._recent = memory["recent"]

    def restore_best(self, model: PreTrainedModel) -> None:
        """Load the best weights into `model`; without valid rows it stays as it is."""
        if self._valid_loss is not None:
            load_weights(model, self._best_file)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Look at the model before the first step: training may make it worse."""
        if state.global_step == 0:
            self._look(0, kwargs["model"])

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """After each step: remember its loss, and look when it is time."""
        loss = kwargs["logs"].get("loss")
        if loss is None:
            return
        if not math.isfinite(loss):
            raise ModelError(f"the loss is {loss} at step {state.global_step}; lower the learning rate")
        self._recent.append(loss)
        last = state.global_step >= state.max_steps
        if last or state.global_step % self._every == 0:
            self._look(state.global_step, kwargs["model"])
            control.should_training_stop = last or self._looks_since_best() >= self._patience
        if control.should_training_stop:
            control.should_save = False

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Complete the checkpoint that was just written."""
        looks = [{"step": k.step, "train_loss": k.train_loss, "valid_loss": k.valid_loss} for k in self.curve]
        memory = {"curve": looks, "recent": self._recent}
        write_json(Path(str(args.output_dir)) / f"checkpoint-{state.global_step}" / MEMORY, memory)

    def _look(self, step: int, model: PreTrainedModel) -> None:
        train = sum(self._recent) / len(self._recent) if self._recent else None
        look = Look(step, train, self._valid_loss() if self._valid_loss else None)
        self.curve.append(look)
        self._recent = []
        if look.valid_loss is not None and self.best is look:
            fresh = self._best_file.with_suffix(".new")
            save_weights(model, str(fresh))
            fresh.replace(self._best_file)
        known = {"train_loss": look.train_loss, "valid_loss": look.valid_loss}
        self._report(step, {name: value for name, value in known.items() if value is not None})

    def _looks_since_best(self) -> int:
        return 0 if self._valid_loss is None else len(self.curve) - 1 - self.curve.index(self.best)


def latest_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint under `folder`; those that a kill cut off are removed."""
    found = list(folder.glob("checkpoint-*"))
    for checkpoint in found:
        if not (checkpoint / MEMORY).is_file():
            shutil.rmtree(checkpoint)
    whole = [checkpoint for checkpoint in found if checkpoint.is_dir()]
    return max(whole, key=lambda checkpoint: int(checkpoint.name.rpartition("-")[2]), default=None)
