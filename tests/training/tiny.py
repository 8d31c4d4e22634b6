"""A model of a few thousand parameters for tests of training."""

from pathlib import Path

from pipeline.params import BaseParams
from pipeline.rollouts.harnesses import Harnesses
from pipeline.training.sft import TokenRow
from pipeline.training.tiny import build_tiny, build_tokenizer
from tests.training.conversations import TOOLS, conversations

SHAPE = BaseParams(
    model="tiny", vocab_size=512, hidden_size=32, layers=2, heads=2, head_dim=16, intermediate_size=64,
    max_positions=512,
)  # fmt: skip


def texts(count: int) -> list[str]:
    """Conversations as the tiny chat template renders them."""
    harness = Harnesses(build_tokenizer((), 512)).of(TOOLS)
    return [harness.render(messages) for messages in conversations(count)]


def make(folder: Path, seed: int = 1) -> Path:
    """Build a tiny model under `folder`."""
    build_tiny(texts(40), SHAPE, seed, folder)
    return folder


def rows(harnesses: Harnesses, count: int, first: int = 0) -> list[TokenRow]:
    """Token rows of conversations."""
    return [TokenRow(*harnesses.encode(messages, TOOLS)) for messages in conversations(count, first)]
