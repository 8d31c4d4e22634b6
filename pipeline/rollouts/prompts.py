"""The prompts of one `converse` call, each distinct one passed through the model once.

The longest prefix that all prompts share is computed first, where the engine can share it; distinct prompts follow in
lots, in the order in which rows will ask for them, and are kept until the last row that starts from them is seated.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import torch

from pipeline.rollouts.ragged_cache import RaggedCache

if TYPE_CHECKING:
    from pipeline.rollouts.transformers_engine import TransformersEngine

Prompt = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A prompt whose keys and values lie in `row` of `cache`."""

    cache: RaggedCache
    row: int
    logits: torch.Tensor


class Prompts:
    """Computes prompts as they are needed and copies them into slots."""

    def __init__(self, engine: "TransformersEngine", prompts: Sequence[Sequence[int]]) -> None:
        self._engine = engine
        self._prompts: list[Prompt] = [tuple(prompt) for prompt in prompts]
        self._uses = Counter(self._prompts)
        self._pending = dict.fromkeys(self._prompts)
        self._ready: dict[Prompt, _Ready] = {}
        self._shared = shared_prefix(self._prompts) if engine.shares_prefix else 0
        self.prefix = engine.prefix(self._prompts[0][: self._shared]) if self._shared else []
        """Keys and values that all caches of this call share."""

    def place(self, row: int, cache: RaggedCache, slot: int) -> tuple[int, torch.Tensor]:
        """Put the keys and values of `row`'s prompt into `slot`; its length and the logits [vocabulary] behind it."""
        prompt = self._prompts[row]
        if prompt not in self._ready:
            self._compute()
        ready = self._ready[prompt]
        cache.copy_row(slot, ready.cache, ready.row, len(prompt))
        self._uses[prompt] -= 1
        if not self._uses[prompt]:
            del self._ready[prompt]
        return len(prompt), ready.logits

    def _compute(self) -> None:
        """The next lot of prompts that no row has asked for yet."""
        longest = max(map(len, self._pending)) - self._shared
        lot = list(islice(self._pending, max(1, self._engine.lot_tokens // longest)))
        cache = self._engine.new_cache(len(lot), longest)
        cache.share(self.prefix)
        starts = np.full(len(lot), self._shared)
        logits = self._engine.forward(cache, None, [prompt[self._shared :] for prompt in lot], starts)
        for row, prompt in enumerate(lot):
            self._ready[prompt] = _Ready(cache, row, logits[row])
            del self._pending[prompt]


def shared_prefix(prompts: Sequence[Prompt]) -> int:
    """Length of the longest prefix that all prompts share, leaving each at least one token of its own."""
    if not prompts:
        return 0
    low, high = min(prompts), max(prompts)  # what the extremes in dictionary order share, all share
    limit = min(map(len, prompts)) - 1
    differs = (n for n, (a, b) in enumerate(zip(low, high, strict=False)) if a != b)
    return min(next(differs, limit), limit)
