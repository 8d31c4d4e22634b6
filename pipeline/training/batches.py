"""The order in which rows are trained on: batches of like lengths, drawn from a seed, so that little is padding."""

import random
from collections.abc import Sequence

WINDOW = 16
"""Batches sorted by length together: long enough for little padding, short enough to stay a random order."""


def plan(lengths: Sequence[int], batch_size: int, epochs: int, seed: int) -> list[int]:
    """Row numbers of all epochs in training order, to be cut into batches of `batch_size` rows.

    Each epoch holds every row once, in an order of its own. Rows that do not fill an epoch's last batch open the next
    epoch's first window, so that only the very last batch may be short.
    """
    order: list[int] = []
    waiting: list[int] = []
    for epoch in range(epochs):
        rng = random.Random(f"rows-{seed}-{epoch}")
        rows = list(range(len(lengths)))
        rng.shuffle(rows)
        batches, waiting = _batches(waiting + rows, lengths, batch_size)
        rng.shuffle(batches)
        order += [row for batch in batches for row in batch]
    return order + waiting


def steps(rows: int, batch_size: int, epochs: int) -> int:
    """Optimiser steps that `plan` makes."""
    return -(-rows * epochs // batch_size)


def _batches(rows: Sequence[int], lengths: Sequence[int], batch_size: int) -> tuple[list[list[int]], list[int]]:
    whole = len(rows) // batch_size * batch_size
    batches = []
    for start in range(0, whole, batch_size * WINDOW):
        window = sorted(rows[start : min(whole, start + batch_size * WINDOW)], key=lambda row: lengths[row])
        batches += [window[at : at + batch_size] for at in range(0, len(window), batch_size)]
    return batches, list(rows[whole:])
