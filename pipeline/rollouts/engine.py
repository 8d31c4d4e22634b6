"""What the episode loop asks of a sampler: conversations in, exact tokens out.

An engine owns batching. The caller hands it all prompts at once and a `reply` function; rows enter and leave the batch
as the engine sees fit, so that a long episode never holds up a short one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Sampled:
    """One turn as the model sampled it."""

    token_ids: tuple[int, ...]
    """Sampled ids; the last one is the end-of-turn token exactly when `finished`."""
    logprobs: tuple[float, ...]
    """Natural log-probability of each id under the very distribution it was drawn from (after temperature)."""
    finished: bool
    """False when the turn was cut by `max_new_tokens` or by `max_context`."""


Reply = Callable[[int, Sampled], Sequence[int] | None]
"""`reply(row, turn)`: the environment's tokens up to the next turn's first sampled token, or None to end the row."""


class Engine(Protocol):
    """Samples many conversations side by side."""

    @property
    def fingerprint(self) -> str:
        """16 hex digits of the weights and of whatever else its samples depend on, batch shapes included."""
        ...

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
        """Run every prompt to its end, calling `reply(row, turn)` after each sampled turn.

        `temperature` 0 is greedy, with log-probabilities at temperature 1. A turn has at most `max_new_tokens` tokens
        and a row (prompt, turns and replies) at most `max_context`. Raises ValueError when a prompt or a reply leaves
        no room for a single sampled token: the caller decides what such a row is worth.
        """
        ...
