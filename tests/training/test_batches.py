import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.training.batches import plan, steps


@given(
    lengths=st.lists(st.integers(1, 99), min_size=1, max_size=60),
    size=st.integers(1, 9), epochs=st.integers(1, 4), seed=st.integers(0, 3),
)  # fmt: skip
def test_every_row_is_seen_once_an_epoch(lengths: list[int], size: int, epochs: int, seed: int) -> None:
    order = plan(lengths, size, epochs, seed)
    assert Counter(order) == dict.fromkeys(range(len(lengths)), epochs)
    assert steps(len(lengths), size, epochs) == len(range(0, len(order), size))


def test_batches_hold_rows_of_like_lengths() -> None:
    lengths = [random.Random(n).randrange(50, 500) for n in range(640)]

    def padding(order: list[int]) -> int:
        batches = [[lengths[row] for row in order[at : at + 8]] for at in range(0, len(order), 8)]
        return sum(max(batch) * len(batch) - sum(batch) for batch in batches)

    assert padding(plan(lengths, 8, 1, 0)) < 0.25 * padding(list(range(640)))


@pytest.mark.parametrize(("seed", "same"), [(1, True), (2, False)])
def test_the_order_hangs_on_the_seed_only(seed: int, same: bool) -> None:
    lengths = list(range(100))
    assert (plan(lengths, 8, 2, seed) == plan(lengths, 8, 2, 1)) is same


def test_epochs_have_different_orders() -> None:
    order = plan([5] * 64, 8, 2, 1)
    assert order[:64] != order[64:]
