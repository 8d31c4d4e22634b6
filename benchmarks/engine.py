"""Sampled tokens a second of the in-process engine beside `model.generate` called once a turn.

Both sides play the same conversations on the same Qwen3-shaped model of about a million parameters: a prompt of 100
tokens whose first 80 are shared, turns of 15 sampled tokens, 4 to 8 turns with tool answers of 10 to 40 tokens. All
turns are equally long, which spares `generate` the wait for the longest. `generate` gets a left-padded batch of the
conversations that still run, once a turn, as TRL's tool loop does, and prefills each context again. The sides
alternate, so that a busy machine slows both; time is the processor time of this process, which other processes disturb
less than a clock on the wall.

Run it from the project's folder: `python -m benchmarks.engine [--episodes 256] [--slots 256] [--repeats 3]`.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from transformers import GenerationMixin, PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from pipeline.rollouts.engine import Sampled
from pipeline.rollouts.transformers_engine import TransformersEngine

VOCABULARY, EOS, PAD = 1000, 1, 0
SAMPLED = 15


def tiny_model() -> Qwen3ForCausalLM:
    """Random weights: speed does not depend on them, and no end-of-turn token comes by chance that matters."""
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=128, intermediate_size=384, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=4, head_dim=32, max_position_embeddings=2048, tie_word_embeddings=True,
        eos_token_id=EOS, pad_token_id=PAD, dtype="float32",
    )  # fmt: skip
    model = Qwen3ForCausalLM(config)
    model.eval()
    return model


class Scripts:
    """What the environment says: prompts, and the tool answers of each conversation."""

    def __init__(self, episodes: int, tries: int = 8) -> None:
        rng = np.random.default_rng(0)
        shared = _words(rng, 80)
        questions = [shared + _words(rng, 20) for _ in range(-(-episodes // tries))]
        self.prompts = [questions[row // tries] for row in range(episodes)]
        self.answers = [
            [_words(rng, int(rng.integers(10, 41))) for _ in range(int(rng.integers(3, 8)))] for _ in range(episodes)
        ]


def _words(rng: np.random.Generator, count: int) -> list[int]:
    return [int(token) for token in rng.integers(2, VOCABULARY, count)]


def by_engine(model: PreTrainedModel, scripts: Scripts, slots: int) -> int:
    """Play all conversations with the engine; the number of sampled tokens."""
    heard = [0] * len(scripts.prompts)
    sampled = 0

    def reply(row: int, turn: Sampled) -> list[int] | None:
        nonlocal sampled
        sampled += len(turn.token_ids)
        heard[row] += 1
        return scripts.answers[row][heard[row] - 1] if heard[row] <= len(scripts.answers[row]) else None

    engine = TransformersEngine(model, EOS, PAD, slots)
    engine.converse(scripts.prompts, reply, seed=0, temperature=1.0, max_new_tokens=SAMPLED, max_context=1024)
    return sampled


@torch.inference_mode()
def by_generate(model: Qwen3ForCausalLM, scripts: Scripts) -> int:
    """Play all conversations with one `generate` a turn; the number of sampled tokens."""
    contexts = [list(prompt) for prompt in scripts.prompts]
    generate: Callable[..., torch.Tensor] = GenerationMixin.generate.__get__(model)
    active, turn, sampled = list(range(len(contexts))), 0, 0
    while active:
        width = max(len(contexts[row]) for row in active)
        ids = torch.tensor([[PAD] * (width - len(contexts[row])) + contexts[row] for row in active])
        padding = torch.tensor([[width - len(contexts[row])] for row in active])
        output: torch.Tensor = generate(
            ids, attention_mask=(torch.arange(width) >= padding).long(), max_new_tokens=SAMPLED, do_sample=True,
            top_k=0, top_p=1.0, temperature=1.0, pad_token_id=PAD, eos_token_id=EOS,
        )  # fmt: skip
        for row, new in zip(active, output[:, width:].tolist(), strict=True):
            said = new[: new.index(EOS) + 1] if EOS in new else new
            sampled += len(said)
            contexts[row] += said + (scripts.answers[row][turn] if turn < len(scripts.answers[row]) else [])
        active = [row for row in active if turn < len(scripts.answers[row])]
        turn += 1
    return sampled


def _rate(play: Callable[[], int]) -> float:
    start = time.process_time()
    tokens = play()
    return tokens / (time.process_time() - start)


def main() -> None:
    """Print tokens a second of both sides and their ratio, median over the repeats."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=256)
    parser.add_argument("--slots", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model, scripts = tiny_model(), Scripts(options.episodes)
    by_engine(model, Scripts(16), 16)  # warms both sides' lazy imports
    rates = [
        (_rate(lambda: by_engine(model, scripts, options.slots)), _rate(lambda: by_generate(model, scripts)))
        for _ in range(options.repeats)
    ]
    ours, theirs = (float(np.median(side)) for side in zip(*rates, strict=True))
    print(f"{options.episodes} episodes, {options.slots} slots, {torch.get_num_threads()} threads")
    print(f"{'':<24}{'tokens a processor second':>26}")
    print(f"{'model.generate a turn':<24}{theirs:>26,.0f}")
    print(f"{'TransformersEngine':<24}{ours:>26,.0f}")
    print(f"{'ratio':<24}{float(np.median([a / b for a, b in rates])):>26.1f}")


if __name__ == "__main__":
    main()
