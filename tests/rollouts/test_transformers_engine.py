"""The engine's tokens and log-probabilities beside plain forward passes over the whole conversation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, PreTrainedModel

from pipeline.errors import ModelError
from pipeline.rollouts.engine import Sampled
from pipeline.rollouts.prompts import shared_prefix
from pipeline.rollouts.transformers_engine import TransformersEngine
from tests.rollouts.conftest import EOS, PAD, VOCABULARY, qwen3

Played = list[list[tuple[Sampled, list[int]]]]
"""For each row its turns, each with the answer it was given."""


class PlainLlama(LlamaForCausalLM):
    """A model whose attention cannot be exchanged, as on an accelerator: no prefix is shared."""

    _supports_attention_backend = False


def _prompts(count: int, shared: int = 5) -> list[list[int]]:
    rng = np.random.default_rng(1)
    head = rng.integers(2, VOCABULARY, shared).tolist()
    distinct = [head + rng.integers(2, VOCABULARY, int(rng.integers(1, 9))).tolist() for _ in range(-(-count // 3))]
    return [distinct[row // 3] for row in range(count)]


def _play(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], slots: int, temperature: float = 1.0, seed: int = 5
) -> Played:
    """Row r has r % 4 + 1 turns, with answers of uneven length."""
    played: Played = [[] for _ in prompts]

    def reply(row: int, turn: Sampled) -> list[int] | None:
        rng = np.random.default_rng([row, len(played[row])])
        answer = rng.integers(2, VOCABULARY, int(rng.integers(0, 14))).tolist()
        played[row].append((turn, answer))
        return answer if len(played[row]) <= row % 4 else None

    engine = TransformersEngine(model, EOS, PAD, slots)
    engine.converse(prompts, reply, seed=seed, temperature=temperature, max_new_tokens=9, max_context=160)
    return played


def _ids(played: Played) -> list[list[tuple[int, ...]]]:
    return [[turn.token_ids for turn, _ in row] for row in played]


def _check_logprobs(model: PreTrainedModel, prompts: Sequence[Sequence[int]], played: Played, degree: float) -> None:
    for prompt, row in zip(prompts, played, strict=True):
        context = list(prompt)
        for turn, answer in row:
            with torch.no_grad():
                logits = model(torch.tensor([context + list(turn.token_ids)])).logits[0, len(context) - 1 : -1]
            wanted = torch.log_softmax(logits / degree, -1)[range(len(turn.token_ids)), turn.token_ids]
            assert torch.allclose(torch.tensor(turn.logprobs), wanted, atol=2e-5)
            context += [*turn.token_ids, *answer]


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_logprobs_are_those_of_the_whole_conversation(kv_heads: int) -> None:
    model, prompts = qwen3(kv_heads), _prompts(14)
    for slots in (14, 3):
        _check_logprobs(model, prompts, _play(model, prompts, slots, temperature=0.8), 0.8)


def test_every_row_gets_all_its_turns_and_finished_means_end_of_turn() -> None:
    played = _play(qwen3(), _prompts(14), slots=4)
    assert [len(row) for row in played] == [row % 4 + 1 for row in range(14)]
    turns = [turn for row in played for turn, _ in row]
    assert {turn.finished for turn in turns} == {True, False}
    assert all(turn.finished == (turn.token_ids[-1] == EOS) for turn in turns)
    assert all(EOS not in turn.token_ids[:-1] for turn in turns)
    assert all(len(turn.token_ids) == 9 for turn in turns if not turn.finished)


def test_equal_calls_give_equal_bits_and_slots_do_not_matter() -> None:
    model, prompts = qwen3(), _prompts(14)
    first = _play(model, prompts, slots=5)
    assert first == _play(model, prompts, slots=5)
    assert _ids(first) == _ids(_play(model, prompts, slots=14)) == _ids(_play(model, prompts, slots=1))
    assert _ids(first) != _ids(_play(model, prompts, slots=5, seed=6))


def test_an_engine_used_before_gives_the_same_bits() -> None:
    model, prompts = qwen3(), _prompts(6)
    engine = TransformersEngine(model, EOS, PAD, 6)
    heard: list[list[tuple[int, Sampled]]] = []
    for _ in range(2):
        heard.append([])
        engine.converse(
            prompts, lambda row, turn: heard[-1].append((row, turn)), seed=1, temperature=1.0, max_new_tokens=40,
            max_context=64,
        )  # fmt: skip
    assert heard[0] == heard[1]


def test_greedy_follows_the_likeliest_token() -> None:
    model, prompts = qwen3(), _prompts(6)
    for prompt, row in zip(prompts, _play(model, prompts, slots=6, temperature=0.0), strict=True):
        turn = row[0][0]
        with torch.no_grad():
            logits = model(torch.tensor([[*prompt, *turn.token_ids]])).logits[0, len(prompt) - 1 : -1]
        assert tuple(logits.argmax(-1).tolist()) == turn.token_ids


def test_turn_is_cut_by_the_context() -> None:
    heard: list[Sampled] = []
    engine = TransformersEngine(qwen3(), -1, PAD, 1)
    engine.converse(
        [[3] * 10], lambda _, turn: heard.append(turn), seed=0, temperature=1.0, max_new_tokens=50, max_context=16
    )
    assert len(heard[0].token_ids) == 6
    assert not heard[0].finished


def test_prompt_or_reply_without_room_is_refused() -> None:
    engine = TransformersEngine(qwen3(), -1, PAD, 1)
    limits: dict[str, Any] = {"seed": 0, "temperature": 1.0, "max_new_tokens": 4, "max_context": 16}
    with pytest.raises(ValueError, match="prompt 0 has 16 tokens; it needs 1 to 15"):
        engine.converse([[3] * 16], lambda _row, _turn: None, **limits)
    with pytest.raises(ValueError, match="row 0: 16 tokens leave no room"):
        engine.converse([[3] * 10], lambda _row, _turn: [3, 3], **limits)


def test_training_mode_and_gradients_are_left_as_they_were() -> None:
    model = qwen3().train()
    implementation = model.config._attn_implementation
    _play(model, _prompts(3), slots=3)
    assert model.training
    assert model.config._attn_implementation == implementation
    model(torch.tensor([[2, 3]])).logits.sum().backward()
    assert model.lm_head.weight.grad is not None


def test_other_decoders_work_and_unfit_ones_are_refused() -> None:
    shape: dict[str, Any] = {
        "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3,
    }  # fmt: skip
    kinds: tuple[type[LlamaForCausalLM], ...] = (LlamaForCausalLM, PlainLlama)
    for kind in kinds:
        llama: LlamaForCausalLM = kind(LlamaConfig(**shape))
        llama.eval()
        assert TransformersEngine(llama, EOS, PAD, 1).shares_prefix == (kind is LlamaForCausalLM)
        _check_logprobs(llama, _prompts(6), _play(llama, _prompts(6), slots=4), 1.0)
    with pytest.raises(ModelError, match="MistralForCausalLM has a sliding window of 16"):
        TransformersEngine(MistralForCausalLM(MistralConfig(sliding_window=16, **shape)), EOS, PAD, 2)
    mixed = ["full_attention", "sliding_attention"]
    with pytest.raises(ModelError, match="Qwen3ForCausalLM has sliding_attention layers"):
        TransformersEngine(qwen3(use_sliding_window=True, sliding_window=8, layer_types=mixed), EOS, PAD, 2)


def test_fingerprint_follows_weights_and_slots() -> None:
    model = qwen3()
    first = TransformersEngine(model, EOS, PAD, 2).fingerprint
    assert first == TransformersEngine(qwen3(), EOS, PAD, 2).fingerprint
    assert first != TransformersEngine(model, EOS, PAD, 3).fingerprint
    with torch.no_grad():
        model.lm_head.weight[0, 0] += 1e-3
    assert first != TransformersEngine(model, EOS, PAD, 2).fingerprint


def test_shared_prefix_leaves_each_prompt_a_token() -> None:
    assert shared_prefix([(1, 2, 3), (1, 2, 4), (1, 2, 3, 5)]) == 2
    assert shared_prefix([(1, 2), (1, 2, 3)]) == 1
    assert shared_prefix([(1, 2)]) == 1
    assert shared_prefix([(1,), (2,)]) == 0
    assert shared_prefix([]) == 0
