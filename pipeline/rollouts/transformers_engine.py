"""Samples many multi-turn conversations in this process with a transformers model, keeping the key-value cache.

What makes it fast next to `model.generate` once a turn:

- a token passes the model once: after a turn only the environment's answer is new, the rest is in the cache;
- the prefix that all prompts share (tool schemas) is computed once and, on a CPU, stored and read once for all rows
  (`shared_attention`); each distinct prompt is computed once for all its tries;
- rows have lengths of their own, occupied slots stay dense, and a row that ends makes place for one that waits;
- answers are fed in one pass as soon as an eighth of the rows has one; until then such rows are fed one token
  with every decoding pass of the others, so that none computes for nothing.

A row's random numbers are its own (`sampling`). Batch shapes are a function of prompts, replies and `slots`: the same
call gives the same bits; another `slots` gives the same tokens but where rounding decides.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from transformers import PreTrainedModel

from pipeline.errors import ModelError
from pipeline.rollouts.conversations import Conversations
from pipeline.rollouts.engine import Reply
from pipeline.rollouts.ragged_cache import RaggedCache
from pipeline.rollouts.shared_attention import NAME, LayerPrefix

Ints = NDArray[np.int64]

VERSIONS = f"torch {torch.__version__} transformers {transformers.__version__}"
LOT_TOKENS_CPU, LOT_TOKENS = 512, 16384
"""Most tokens, padding included, that are read in one pass: on a CPU what its cache holds, elsewhere what fits."""
LENGTH_STEP = 8
"""Key lengths are rounded up to this, which kernels on vectors like."""
PROBE_TOLERANCE = 1e-2
"""Largest relative difference of a probability between the ragged and the plain forward pass, in float32."""
PROBE_SLACK = 50
"""How many times that is let pass in half precision."""


class TransformersEngine:
    """An `Engine` on a decoder-only transformers model with full attention in every layer."""

    def __init__(self, model: PreTrainedModel, eos_id: int, pad_id: int, slots: int) -> None:
        """`slots` conversations are sampled side by side. Raises ModelError when the model cannot be used so."""
        self.model, self.eos_id, self.pad_id, self.slots = model, eos_id, pad_id, slots
        config = model.config.get_text_config()
        self._layers = int(config.num_hidden_layers)
        _refuse_unfit(model)
        on_cpu = model.device.type == "cpu"
        self.shares_prefix = on_cpu and model._supports_attention_backend
        self.lot_tokens = LOT_TOKENS_CPU if on_cpu else LOT_TOKENS
        self._cache = self.new_cache(slots)
        with self._sampling_mode():
            self._probe(int(config.vocab_size))

    @property
    def fingerprint(self) -> str:
        """See `Engine.fingerprint`; reads all weights."""
        digest = hashlib.sha256(f"{type(self.model).__name__} {self.model.dtype} {self.slots} {VERSIONS}".encode())
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
        return digest.hexdigest()[:16]

    def converse(
        self,
        prompts: Sequence[Sequence[int]],
        reply: Reply,
        *,
        seed: int,
        temperature: float,
        max_new_tokens: int,
        max_context: int,
    ) -> None:
        """See `Engine.converse`."""
        with self._sampling_mode():
            conversations = Conversations(self, prompts, reply, seed, temperature, max_new_tokens, max_context)
            conversations.run(self._cache)

    def new_cache(self, slots: int, capacity: int = 256) -> RaggedCache:
        """An empty cache for this model."""
        return RaggedCache(self._layers, slots, capacity)

    def prefix(self, ids: Sequence[int]) -> list[LayerPrefix]:
        """Keys and values of `ids`, layer by layer."""
        cache = self.new_cache(1, len(ids))
        self.forward(cache, None, [ids], np.zeros(1, dtype=np.int64))
        return cache.row(0, len(ids))

    def forward(
        self, cache: RaggedCache, rows: Sequence[int] | None, feeds: Sequence[Sequence[int]], starts: Ints
    ) -> torch.Tensor:
        """Feed new tokens to rows of the cache; logits [rows, vocabulary] behind each row's last one.

        Row i, in slot `rows[i]` (slot i where `rows` is None), holds `starts[i]` positions and gets `feeds[i]`. The
        feeds are aligned at their ends, so that the last column is the last token of every row.
        """
        sizes = np.array([len(feed) for feed in feeds])
        width = int(sizes.max())
        positions = starts[:, None] + np.arange(width) - (width - sizes)[:, None]
        real = positions >= starts[:, None]
        ids = np.full(positions.shape, self.pad_id, dtype=np.int64)
        ids[real] = np.concatenate([np.asarray(feed, dtype=np.int64) for feed in feeds])
        length = -(-(int((starts + sizes).max()) - cache.offset) // LENGTH_STEP) * LENGTH_STEP
        cache.ensure(length)
        chosen = None if rows is None else self._tensor(np.asarray(rows, dtype=np.int64))
        cache.aim(chosen, self._tensor(np.where(real, positions - cache.offset, cache.capacity)), length)
        where = self._tensor(np.where(real, positions, cache.offset))
        options = {"shared_prefix": cache.prefix} if cache.prefix else {}
        output = self.model(
            input_ids=self._tensor(ids), position_ids=where, attention_mask=self._mask(where - cache.offset, length),
            past_key_values=cache, use_cache=True, logits_to_keep=1, **options,
        )  # fmt: skip
        logits: torch.Tensor = output.logits[:, -1]
        return logits

    def _mask(self, positions: torch.Tensor, length: int) -> torch.Tensor:
        """Additive mask [rows, 1, new, length]: behind the prefix, a token sees every position up to its own."""
        hidden = torch.arange(length, device=positions.device) > positions[:, None, :, None]
        mask = torch.zeros(hidden.shape, dtype=self.model.dtype, device=positions.device)
        return mask.masked_fill_(hidden, torch.finfo(self.model.dtype).min)

    def _tensor(self, values: Ints) -> torch.Tensor:
        return torch.from_numpy(values).to(self.model.device)

    @contextmanager
    def _sampling_mode(self) -> Iterator[None]:
        """No gradients, no dropout, our attention; the model's own ways afterwards."""
        training, attention = self.model.training, self.model.config._attn_implementation
        self.model.eval()
        if self.shares_prefix:
            self.model.config._attn_implementation = NAME
        try:
            with torch.inference_mode():
                yield
        finally:
            self.model.config._attn_implementation = attention
            self.model.train(training)

    def _probe(self, vocab_size: int) -> None:
        """Compare a forward pass in two uneven steps with a plain one: shows an architecture that does not fit."""
        ids = [(7 * n + self.eos_id) % vocab_size for n in range(6)]
        cache = self.new_cache(2, capacity=8)
        shared = 1 if self.shares_prefix else 0
        cache.share(self.prefix(ids[:shared]) if shared else [])
        self.forward(cache, None, [ids[shared:4], ids[shared:2]], np.full(2, shared))
        ragged = self.forward(cache, [1, 0], [ids[2:], ids[4:]], np.array([2, 4]))
        plain = self.model(input_ids=torch.tensor([ids], device=self.model.device)).logits[0, -1]
        gap = (torch.log_softmax(ragged.float(), -1) - torch.log_softmax(plain.float(), -1)).exp_().sub_(1).abs().max()
        if not float(gap) < PROBE_TOLERANCE * (1 if self.model.dtype == torch.float32 else PROBE_SLACK):
            raise ModelError(
                f"{type(self.model).__name__}: the cached forward pass differs from the plain one by {float(gap):.3g}; "
                "this engine needs a decoder-only model that takes position_ids and a 4D attention mask"
            )


def _refuse_unfit(model: PreTrainedModel) -> None:
    config = model.config.get_text_config()
    name = type(model).__name__
    others = sorted(set(getattr(config, "layer_types", None) or ()) - {"full_attention"})
    if others:
        raise ModelError(f"{name} has {others[0]} layers; this engine needs full attention in every layer")
    if getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True):
        raise ModelError(f"{name} has a sliding window of {config.sliding_window}; this engine needs full attention")
    if config.is_encoder_decoder:
        raise ModelError(f"{name} is an encoder-decoder; this engine needs a decoder-only model")
    if model.config._attn_implementation not in ("sdpa", "eager"):
        raise ModelError(
            f"{name} uses {model.config._attn_implementation}; load it with attn_implementation='sdpa' for this engine"
        )
