"""A key-value cache whose rows have lengths of their own: no left padding, no gaps, memory allocated once.

Each layer holds keys and values as [slots, kv_heads, capacity + 1, head_dim]. Before a forward pass the engine says,
with `aim`, which slots take part and at which position each new token lands; `update` scatters them there and hands
the attention a view of the first `length` positions. The position behind the capacity is scratch: padding is written
there, where no mask ever looks. Row lengths live with the engine; a shorter new occupant simply overwrites a slot.
"""

from collections.abc import Iterator
from typing import Any

import torch
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin

from pipeline.rollouts.shared_attention import LayerPrefix

GROWTH = 128
"""Positions by which the capacity grows at least, so that the copies a growth costs stay rare."""


class RaggedLayer(CacheLayerMixin):
    """One layer's keys and values; allocated when the first keys show head count, width, type and device."""

    is_sliding = False

    def __init__(self, slots: int, capacity: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.slots, self.capacity = slots, capacity
        self.stored: list[torch.Tensor] = []
        self.rows: torch.Tensor | None = None
        self.write_rows = self.positions = torch.empty(0, dtype=torch.long)
        self.length = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Allocate zeros of the kind of `key_states` and `value_states`: a masked position must stay finite."""
        self.stored = [self._zeros(key_states), self._zeros(value_states)]
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store [rows, kv_heads, new, head_dim] and return [rows, kv_heads, length, head_dim]."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        keys, values = self.stored
        return self._exchange(keys, key_states), self._exchange(values, value_states)

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` positions, keeping what is stored."""
        old, self.capacity = self.capacity, capacity
        for kind, before in enumerate(self.stored):
            after = self._zeros(before)
            after[:, :, :old] = before[:, :, :old]
            self.stored[kind] = after

    def copy_row(self, slot: int, source: "RaggedLayer", row: int, length: int) -> None:
        """Copy the first `length` positions of `source`'s row into `slot`."""
        if not self.is_initialized:
            self.lazy_initialization(*source.stored)
        for mine, theirs in zip(self.stored, source.stored, strict=True):
            mine[slot, :, :length] = theirs[row, :, :length]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of the keys; only asked where no 4D mask is given."""
        return self.length, 0

    def get_seq_length(self) -> int:
        """0: positions are always given explicitly."""
        return 0

    def get_max_length(self) -> int:
        """-1: grows."""
        return -1

    def _zeros(self, like: torch.Tensor) -> torch.Tensor:
        shape = (self.slots, like.shape[1], self.capacity + 1, like.shape[3])
        return torch.zeros(shape, dtype=like.dtype, device=like.device)

    def _exchange(self, stored: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        stored[self.write_rows, :, self.positions] = new.transpose(1, 2)
        seen = stored[:, :, : self.length]
        return seen[: new.shape[0]] if self.rows is None else seen.index_select(0, self.rows)


class RaggedCache(Cache):
    """One RaggedLayer for each layer of the model, and the prefix that all rows share."""

    def __init__(self, layers: int, slots: int, capacity: int) -> None:
        self.slots = slots
        self.capacity = capacity
        self.prefix: list[LayerPrefix] = []
        self.offset = 0
        super().__init__(layers=[RaggedLayer(slots, capacity) for _ in range(layers)])

    def share(self, prefix: list[LayerPrefix]) -> None:
        """From now on the first positions of every row are those of `prefix` ([] for none), and slots hold the rest."""
        self.prefix = prefix
        self.offset = prefix[0][0].shape[1] if prefix else 0

    def aim(self, rows: torch.Tensor | None, positions: torch.Tensor, length: int) -> None:
        """Set where the next forward pass writes and how far it looks, in positions behind the prefix.

        `rows` [n] are the slots that take part, None for the first n; `positions` [n, new] where each new token lands,
        with `capacity` for padding; `length` how many positions the attention sees.
        """
        slots = torch.arange(positions.shape[0], device=positions.device) if rows is None else rows
        for layer in self.ragged():
            layer.rows, layer.write_rows = rows, slots[:, None]
            layer.positions, layer.length = positions, length

    def ensure(self, length: int) -> None:
        """Have room for `length` positions behind the prefix."""
        if length > self.capacity:
            self.capacity = max(length, self.capacity + GROWTH)
            for layer in self.ragged():
                layer.grow(self.capacity)

    def copy_row(self, slot: int, source: "RaggedCache", row: int, length: int) -> None:
        """Make `slot` hold the first `length` positions of `source`'s row; both share one prefix."""
        self.ensure(length - self.offset)
        for mine, theirs in zip(self.ragged(), source.ragged(), strict=True):
            mine.copy_row(slot, theirs, row, length - self.offset)

    def row(self, row: int, length: int) -> list[LayerPrefix]:
        """Keys and values of the first `length` positions of a row, layer by layer."""
        return [(keys[row, :, :length], values[row, :, :length]) for keys, values in (x.stored for x in self.ragged())]

    def ragged(self) -> Iterator[RaggedLayer]:
        """The layers, by their own type."""
        for layer in self.layers:
            assert isinstance(layer, RaggedLayer)
            yield layer
