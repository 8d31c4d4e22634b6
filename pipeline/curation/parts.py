"""Rows of one task on one side: what early stopping reads is no other try of a task that is trained on."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

Part = Literal["train", "valid"]


def components(keys: Sequence[Sequence[str]]) -> list[int]:
    """For each row the number of its component; rows that share a key, also through others, share a component."""
    parent = list(range(len(keys)))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    first: dict[str, int] = {}
    for row, names in enumerate(keys):
        for name in names:
            left, right = root(first.setdefault(name, row)), root(row)
            parent[max(left, right)] = min(left, right)
    return [root(row) for row in range(len(keys))]


def split_parts(keys: Sequence[Sequence[str]], share: float, seed: int) -> list[Part]:
    """Assign rows to train and valid by whole components, in an order drawn from `seed`.

    `share` of the rows go to valid, rounded up; a component that would overshoot is passed over, and where all would,
    the smallest goes. One component always stays in train; with a share of 0 all do.
    """
    rows_of: dict[int, list[int]] = defaultdict(list)
    for row, component in enumerate(components(keys)):
        rows_of[component].append(row)
    order = sorted(rows_of.values(), key=lambda rows: _draw(seed, min(keys[rows[0]], default=str(rows[0]))))
    if share <= 0 or len(order) < 2:
        return ["train"] * len(keys)
    limit = math.ceil(share * len(keys))
    chosen: list[int] = []
    for rows in order[:-1]:
        if len(chosen) + len(rows) <= limit:
            chosen += rows
    held = set(chosen or _smallest(order))
    return ["valid" if row in held else "train" for row in range(len(keys))]


def _draw(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()


def _smallest(groups: Sequence[list[int]]) -> list[int]:
    return min(groups, key=len)
