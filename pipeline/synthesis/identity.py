"""Ids that belong to one split: no row's id stands in two of them."""

import hashlib
import random
from collections.abc import Collection

from pipeline.errors import SpecError
from pipeline.records import Split

_SHARES: tuple[tuple[Split, int], ...] = (("valid", 12), ("eval", 24), ("train", 100))
"""Upper ends, in percent of all numbers: 12 % valid, 12 % eval, the rest train."""
_DRAWS = 10_000


def split_of(number: int) -> Split:
    """The split that owns a number; the same on every machine and for any count of tasks."""
    point = int.from_bytes(hashlib.sha256(str(number).encode()).digest()[:4], "big") % 100
    return next(split for split, end in _SHARES if point < end)


def draw_id(rng: random.Random, prefix: str, digits: int, split: Split, taken: Collection[str]) -> str:
    """An id of `split` that is not among `taken`, such as C-4821. Raises SpecError when there seem to be none left."""
    for _ in range(_DRAWS):
        number = rng.randrange(10 ** (digits - 1), 10**digits)
        if split_of(number) == split and (key := f"{prefix}-{number}") not in taken:
            return key
    raise SpecError(f"no free id {prefix}- with {digits} digits is left in split {split}; raise `digits` of the table")
