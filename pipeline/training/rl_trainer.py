"""TRL's GRPOTrainer, fed by our rollouts.

What stays TRL's: the clipped loss with its token-level normaliser, the optimiser loop, gradient accumulation, the
checkpoints. What is ours: rollouts and advantages come from `Practice`; the sampler's log-probabilities are those of
the old policy, because the very same weights sampled; a minibatch is padded to its own longest row, reads the prefix
common to all its rows once, and projects sampled positions only through the language model head. One process.
"""

import warnings
from math import isfinite
from typing import Any

import torch
from datasets import Dataset
from transformers import DynamicCache, PreTrainedModel, PreTrainedTokenizerBase, PrinterCallback, Trainer
from trl import GRPOConfig, GRPOTrainer

from pipeline.errors import ModelError
from pipeline.tables import write_json
from pipeline.training.loading import save_model
from pipeline.training.practice import Practice
from pipeline.training.rl_batch import Minibatch, TrainRow, deal, to_tensors
from pipeline.training.seeds import derive_seed

STATE_FILE = "practice.json"
"""In a checkpoint: what `Practice.state` returned."""

RolloutColumns = dict[str, list[Any]]


class RehearsalTrainer(GRPOTrainer):
    """Multi-turn policy optimisation; `args.steps_per_generation` minibatches are made of each generation step."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, practice: Practice, args: GRPOConfig
    ) -> None:
        """`args` as `pipeline.training.rl` makes them."""
        self.practice, self.policy, self.tokenizer = practice, model, tokenizer
        self._hand_count = args.steps_per_generation or 1
        self.updates = self._hand_count // args.gradient_accumulation_steps
        self._hands: list[Minibatch | None] = []
        self._sampled = torch.empty(0, dtype=torch.bool)
        prompts = Dataset.from_dict({"prompt": [""] * self._hand_count})
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="You are using 'rollout_func'")
            super().__init__(
                model=model, reward_funcs=graded_rewards, args=args, train_dataset=prompts, processing_class=tokenizer,
                rollout_func=self._play,
            )  # fmt: skip
        self.remove_callback(PrinterCallback)

    def training_step(
        self, model: torch.nn.Module, inputs: Any, num_items_in_batch: torch.Tensor | int | None = None
    ) -> torch.Tensor:
        """One minibatch of the generation step at hand. An empty one leaves no gradient, not even one of zero."""
        number = self._step % self._hand_count
        if number == 0:
            self._hands = self._deal(self._play(inputs, self))
        hand = self._hands[number]
        if hand is None:
            self._step += 1
            return torch.zeros((), device=self.accelerator.device)
        loss: torch.Tensor = super().training_step(model, hand, num_items_in_batch)  # type: ignore[no-untyped-call]
        return loss

    def _play(self, prompts: list[str], trainer: GRPOTrainer) -> RolloutColumns:
        """TRL's rollout_func. The prompts are placeholders: which tasks are played is `Practice`'s choice."""
        return self.practice.rollouts(self.state.global_step // self.updates)

    def _prepare_inputs(self, generation_batch: Minibatch) -> Minibatch:
        return generation_batch

    def _deal(self, columns: RolloutColumns) -> list[Minibatch | None]:
        names = ("prompt_ids", "completion_ids", "env_mask", "logprobs", "advantages", "environments")
        rows = [TrainRow(*values) for values in zip(*(columns[name] for name in names), strict=True)]
        tokens = sum(sum(row.mask) for row in rows)
        seed = derive_seed(self.args.seed, "deal", self.state.global_step)
        micro = self.args.gradient_accumulation_steps
        hands = deal(rows, self.updates, micro, seed)
        return [self._minibatch(hand, tokens) if hand else None for hand in hands]

    def _minibatch(self, rows: list[TrainRow], tokens: int) -> Minibatch:
        tensors = to_tensors(rows, tokens, self.practice.places.pad_id)
        batch = {name: value.to(self.accelerator.device) for name, value in tensors.items()}
        if self.ref_model is not None:
            self._sampled = batch["tool_mask"].bool()
            ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
            with torch.no_grad():
                logprobs, _, _ = self._get_per_token_logps_and_entropies(
                    self.ref_model, ids, None, batch["completion_ids"].size(1)
                )
            batch["ref_per_token_logps"] = logprobs
        return batch

    def compute_loss(self, model: torch.nn.Module, inputs: Minibatch, *args: Any, **kwargs: Any) -> torch.Tensor:
        """TRL's loss over the sampled tokens of a minibatch."""
        self._sampled = inputs["tool_mask"].bool()
        loss: torch.Tensor = super().compute_loss(model, inputs, *args, **kwargs)
        return loss

    def _get_per_token_logps_and_entropies(
        self, model: PreTrainedModel, input_ids: torch.Tensor, attention_mask: torch.Tensor | None, logits_to_keep: int,
        batch_size: int | None = None, compute_entropy: bool = False, **unused: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, None]:  # fmt: skip
        """Log-probabilities and entropies (B, C) of the last C = `logits_to_keep` tokens; 0 where none was sampled."""
        picked = self._sampled
        hidden = read(model, input_ids[:1, :-logits_to_keep], input_ids[:, -logits_to_keep:])
        logits = model.get_output_embeddings()(hidden[:, :-1][picked[:, 1:]]).float() / self.temperature
        logprobs = logits.log_softmax(dim=-1)
        chosen = logprobs.gather(1, input_ids[:, -logits_to_keep:][picked].unsqueeze(1)).squeeze(1)
        entropies = None
        if compute_entropy:
            with torch.no_grad():
                entropies = _spread_out(picked, -(logprobs.exp() * logprobs).sum(dim=-1))
        return _spread_out(picked, chosen), entropies, None

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """After the last update of a generation step: close it, and keep the model when it is the best so far.

        Raises ModelError when the loss is no longer finite.
        """
        super().log(logs, start_time)
        if not isfinite(logs.get("loss", 0.0)):
            step = self.state.global_step // self.updates
            raise ModelError(f"generation step {step}: the loss is {logs['loss']}; lower rl.learning_rate")
        if "loss" in logs and self.practice.finish(self.state.global_step // self.updates, logs):
            self.keep_best()

    def keep_best(self) -> None:
        """Save the model as the best so far."""
        save_model(self.policy, self.tokenizer, self.practice.folder.best(self.practice.best_step))

    def _save_checkpoint(self, model: torch.nn.Module, trial: Any) -> None:
        Trainer._save_checkpoint(self, model, trial)  # TRL's own adds a model card
        staged = self.practice.folder.staging / f"checkpoint-{self.state.global_step}"
        write_json(staged / STATE_FILE, self.practice.state())
        self.practice.folder.publish(staged, self.state.global_step // self.updates, self.practice.best_step)


def graded_rewards(**columns: Any) -> list[float | None]:
    """TRL demands a reward function; ours are known when the rollouts arrive, graded by their environments."""
    return list(columns["reward"])


def read(model: PreTrainedModel, prefix: torch.Tensor, rest: torch.Tensor) -> torch.Tensor:
    """Last hidden states (B, C, hidden) of `rest` (B, C) behind `prefix` (1, P), which is read once for all rows."""
    backbone = model.base_model
    if prefix.size(1) == 0:
        alone: torch.Tensor = backbone(input_ids=rest, use_cache=False).last_hidden_state
        return alone
    cache = DynamicCache(config=model.config)
    backbone(input_ids=prefix, past_key_values=cache, use_cache=True)
    cache.batch_repeat_interleave(rest.size(0))
    behind: torch.Tensor = backbone(input_ids=rest, past_key_values=cache, use_cache=True).last_hidden_state
    return behind


def _spread_out(mask: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """`values` at the places where `mask` is true, zeros elsewhere."""
    return torch.zeros(mask.shape, dtype=values.dtype, device=values.device).masked_scatter(mask, values)
