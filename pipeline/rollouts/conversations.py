"""The batch of one `converse` call: which row sits in which slot, what it is fed next, when it leaves.

Occupied slots are always 0..active-1. A row's queue holds the tokens that the model has yet to see: one while it
samples, more when the environment has answered.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from pipeline.rollouts.engine import Reply, Sampled
from pipeline.rollouts.prompts import Prompts
from pipeline.rollouts.ragged_cache import RaggedCache
from pipeline.rollouts.sampling import draw, row_stream

if TYPE_CHECKING:
    from pipeline.rollouts.transformers_engine import TransformersEngine

PREFILL_SHARE = 0.125
"""Share of the active rows with an answer to read from which on these are fed in one pass."""


@dataclass(slots=True)
class Seat:
    """A row in its slot."""

    row: int
    cached: int
    """Positions of the slot that are filled."""
    queue: deque[int]
    """Tokens to feed, in order; never empty between passes."""
    uniforms: NDArray[np.float64]
    drawn: int = 0
    """Tokens sampled in all turns."""
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Tokens of the conversation so far."""
        return self.cached + len(self.queue)


class Conversations:
    """Runs all rows of one call to their ends."""

    def __init__(
        self, engine: "TransformersEngine", prompts: Sequence[Sequence[int]], reply: Reply, seed: int,
        temperature: float, max_new_tokens: int, max_context: int,
    ) -> None:  # fmt: skip
        """Raises ValueError when a prompt is empty or leaves no room for a token."""
        for row, prompt in enumerate(prompts):
            if not 0 < len(prompt) < max_context:
                raise ValueError(f"prompt {row} has {len(prompt)} tokens; it needs 1 to {max_context - 1}")
        self._engine, self._reply, self._seed, self._temperature = engine, reply, seed, temperature
        self._max_new_tokens, self._max_context = max_new_tokens, max_context
        self._prompts = Prompts(engine, prompts)
        self._waiting = deque(range(len(prompts)))
        self._seats: list[Seat] = []

    def run(self, cache: RaggedCache) -> None:
        """Until every row has ended."""
        self._cache = cache
        cache.share(self._prompts.prefix)
        self._admit()
        while self._seats:
            behind = [slot for slot, seat in enumerate(self._seats) if len(seat.queue) > 1]
            if behind and len(behind) >= PREFILL_SHARE * len(self._seats):
                self._read(behind)
            else:
                self._step()
            self._admit()

    def _admit(self) -> None:
        """Seat waiting rows while there is room; a row may end with its first turn and make room again."""
        while self._waiting and len(self._seats) < self._cache.slots:
            room = self._cache.slots - len(self._seats)
            rows = [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]
            logits = [self._seat(row) for row in rows]
            first = len(self._seats) - len(rows)
            self._accept(range(first, len(self._seats)), torch.stack(logits))

    def _seat(self, row: int) -> torch.Tensor:
        length, logits = self._prompts.place(row, self._cache, len(self._seats))
        uniforms = row_stream(self._seed, row, self._max_context - length)
        self._seats.append(Seat(row, length, deque(), uniforms))
        return logits

    def _step(self) -> None:
        """One pass with one token of every row; rows whose queue is then empty sample."""
        starts = np.array([seat.cached for seat in self._seats])
        logits = self._engine.forward(self._cache, None, [(seat.queue[0],) for seat in self._seats], starts)
        for seat in self._seats:
            seat.queue.popleft()
            seat.cached += 1
        ready = [slot for slot, seat in enumerate(self._seats) if not seat.queue]
        if len(ready) == len(self._seats):
            self._accept(ready, logits)
        elif ready:
            self._accept(ready, logits[torch.tensor(ready, device=logits.device)])

    def _read(self, behind: list[int]) -> None:
        """Feed whole queues in lots of rows of like length; all of these rows then sample."""
        behind = sorted(behind, key=lambda slot: len(self._seats[slot].queue))
        slots: list[int] = []
        parts: list[torch.Tensor] = []
        while behind:
            take = max(1, self._engine.lot_tokens // len(self._seats[behind[-1]].queue))
            lot, behind = behind[-take:], behind[:-take]
            seats = [self._seats[slot] for slot in lot]
            starts = np.array([seat.cached for seat in seats])
            parts.append(self._engine.forward(self._cache, lot, [list(seat.queue) for seat in seats], starts))
            slots += lot
            for seat in seats:
                seat.cached += len(seat.queue)
                seat.queue.clear()
        self._accept(slots, torch.cat(parts))

    def _accept(self, slots: Sequence[int], logits: torch.Tensor) -> None:
        """Sample one token for each of `slots` and let rows whose turn is over hear the reply or leave."""
        seats = [self._seats[slot] for slot in slots]
        uniforms = np.array([seat.uniforms[seat.drawn] for seat in seats])
        tokens, logprobs = draw(logits, uniforms, self._temperature)
        ended = []
        for slot, seat, token, logprob in zip(slots, seats, tokens, logprobs, strict=True):
            seat.queue.append(token)
            seat.ids.append(token)
            seat.logprobs.append(logprob)
            seat.drawn += 1
            if self._turn_over(seat, token) and not self._hear(seat):
                ended.append(slot)
        for slot in sorted(ended, reverse=True):
            self._leave(slot)

    def _turn_over(self, seat: Seat, token: int) -> bool:
        full = len(seat.ids) >= self._max_new_tokens or seat.total >= self._max_context
        return token == self._engine.eos_id or full

    def _hear(self, seat: Seat) -> bool:
        """Hand the turn over; False when the row ends with it."""
        turn = Sampled(tuple(seat.ids), tuple(seat.logprobs), seat.ids[-1] == self._engine.eos_id)
        answer = self._reply(seat.row, turn)
        if answer is None:
            return False
        seat.queue.extend(answer)
        seat.ids, seat.logprobs = [], []
        if seat.total >= self._max_context:
            raise ValueError(f"row {seat.row}: {seat.total} tokens leave no room under max_context {self._max_context}")
        return True

    def _leave(self, slot: int) -> None:
        last = self._seats.pop()
        if slot < len(self._seats):
            self._cache.copy_row(slot, self._cache, len(self._seats), last.cached)
            self._seats[slot] = last
