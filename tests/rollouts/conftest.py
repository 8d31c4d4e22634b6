"""A tiny model, a tokenizer and an environment of two tools to play with."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from pipeline.environments import Environment
from pipeline.environments.worlds import make_world
from pipeline.errors import ToolError
from pipeline.params import InjectParams, RolloutParams
from pipeline.records import Grade, JsonObject, Task
from pipeline.rollouts.engine import Reply, Sampled
from pipeline.rollouts.harness import Harness
from pipeline.rollouts.places import Place, Places
from pipeline.training.tiny import build_tokenizer

EOS, PAD = 1, 0
VOCABULARY = 48


class Counter(Environment):
    """A number that can be counted up: the smallest world with a state."""

    procedure = "Count to three."
    instant = True

    def reset(self, **task: Any) -> str | None:
        """Start at the task's number."""
        self._count = int(task["initial_state"]["start"])
        return None

    def add(self, by: int) -> str:
        """Count up.

        Args:
            by: How much to add.

        Returns:
            The new number.
        """
        if by < 0:
            raise ToolError("by must not be negative")
        self._count += by
        return str(self._count)

    def explode(self, why: str) -> str:
        """Break the world.

        Args:
            why: What the world says as it breaks.

        Returns:
            Nothing.
        """
        raise OSError(why)

    def _grade(self) -> tuple[Grade, ...]:
        reached = float(self._count >= 3)
        return Grade("outcome", "outcome", reached, bool(reached)), Grade("procedure", "process", 1.0)

    def _state(self) -> JsonObject:
        return {"count": self._count}


class Scripted:
    """An engine whose agent says what `say(row, turn)` gives, cut at the limits like a model's turn."""

    fingerprint = "scripted"

    def __init__(self, harness: Harness, say: Callable[[int, int], str]) -> None:
        self.harness, self.say, self.seeds = harness, say, list[int]()

    def converse(
        self, prompts: Sequence[Sequence[int]], reply: Reply, *, seed: int, temperature: float, max_new_tokens: int,
        max_context: int,
    ) -> None:  # fmt: skip
        """See `Engine.converse`."""
        self.seeds.append(seed)
        for row, prompt in enumerate(prompts):
            total, turn, answer = len(prompt), 0, list[int]()
            while answer is not None:
                said = self.harness.tokenizer.encode(self.say(row, turn), add_special_tokens=False)
                room = min(max_new_tokens, max_context - total - len(answer))
                ids = [*said, self.harness.eos_id][:room]
                total, turn = total + len(answer) + len(ids), turn + 1
                heard = reply(row, Sampled(tuple(ids), (-0.5,) * len(ids), ids[-1] == self.harness.eos_id))
                if heard is None:
                    break
                answer = list(heard)


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    """Matrices of this size are faster without a second thread to wait for."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    """Bytes and the special tokens of Qwen3, no merges."""
    return build_tokenizer([], 300)


@pytest.fixture(scope="session")
def places(tokenizer: PreTrainedTokenizerFast) -> Places:
    """The counter on the tiny tokenizer."""
    return Places.load(tokenizer, {"counter": make_world("counter", Counter)})


@pytest.fixture(scope="session")
def harness(places: Places) -> Harness:
    """The counter's tools on the tiny tokenizer."""
    return places.by_name["counter"].harness


@pytest.fixture
def params() -> RolloutParams:
    """Small limits that each test bends."""
    return RolloutParams(
        engine="transformers", chunk=4, slots=4, max_turns=4, max_new_tokens=200, max_context=4096, max_malformed=1,
        temperature=1.0, tool_timeout=1.0, inject=InjectParams(latency=None, error_rate=0.0, error="answer"),
    )  # fmt: skip


def place(harness: Harness, factory: type[Environment]) -> Places:
    """A place named counter in which this class stands for the world."""
    return Places({"counter": Place(make_world("counter", factory), harness)})


def task(name: str = "t", start: int = 0) -> Task:
    """A task of the counter."""
    return Task(name, "counter", "plain", "train", 0, f"Count from {start}.", {"start": start}, {}, (), {})


def qwen3(kv_heads: int = 2, vocabulary: int = VOCABULARY, **changes: Any) -> Qwen3ForCausalLM:
    """A Qwen3-shaped model with random weights, large enough that its distribution is not flat."""
    torch.manual_seed(7)
    config = Qwen3Config(
        vocab_size=vocabulary, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=kv_heads, head_dim=8, max_position_embeddings=512, eos_token_id=EOS, pad_token_id=PAD,
        initializer_range=0.3, dtype="float32", **changes,
    )  # fmt: skip
    model = Qwen3ForCausalLM(config)
    model.eval()
    return model
