"""Ids that belong to one split: no claim, policy or customer number stands in two of them."""

import hashlib
import random

from pipeline.records import Split

_SHARES: tuple[tuple[Split, int], ...] = (("valid", 12), ("eval", 24), ("train", 100))
"""Upper ends, in percent of all numbers: 12 % valid, 12 % eval, the rest train."""


def split_of(number: int) -> Split:
    """The split that owns a number; the same on every machine and for any count of tasks."""
    point = int.from_bytes(hashlib.sha256(str(number).encode()).digest()[:4], "big") % 100
    return next(split for split, end in _SHARES if point < end)


def draw_id(rng: random.Random, prefix: str, split: Split) -> str:
    """A four-digit id of `split`, such as C-4821."""
    while True:
        number = rng.randrange(1000, 10000)
        if split_of(number) == split:
            return f"{prefix}-{number}"
