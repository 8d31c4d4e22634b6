"""Sums that do not depend on the order of what is added.

Floating-point sums do: another order, or another number of threads, changes the last digits. So each value is taken as
a whole number of units of 2^-bits, and sums of whole numbers are exact. With 53 bits values between 0.5 and 1 lose
nothing and smaller ones less than 1e-16. Larger values, or very many in a group, leave room for fewer bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log2

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.errors import InputError


@dataclass(frozen=True, slots=True)
class Scale:
    """Units of 2^-bits. Squares need twice the bits, so for them a value is `high * 2^split + low` units."""

    bits: int
    split: int


USUAL = Scale(53, 27)
"""What values of at most 1 and groups of up to MOST leave room for."""
MOST = 256
_LEAST = 10


def scale_for(largest: float, most: int) -> Scale:
    """Units in which sums of up to `most` values of magnitude `largest`, which USUAL is too small for, do not overflow.

    n values of at most m units need `n m <= 2^61`: then their sum, and those of products of halves, stay below the
    largest whole number of 64 bits, and `n^2 m^2` below that of 128. Raises InputError where that leaves too few bits
    to compare with.
    """
    above = ceil(log2(max(largest, 1.0)))
    bits = min(USUAL.bits - 1, 61 - ceil(log2(max(most, 1))) - above)
    if bits < _LEAST:
        raise InputError(
            f"a rollout has a grade with score {largest:g}, too large to compare; scale it down to some thousands"
        )
    return Scale(bits, (bits + above + 1) // 2)


def parts(values: NDArray[np.float64], scale: Scale, *, squares: bool) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """What is to be summed for `values`, NaN where unknown: `n` and `sum`; for squares also `high`, `cross` and `low`.

    The last three are `high^2`, `high low` and `low^2` of each value. Values too large for the scale give nonsense.
    """
    known = ~np.isnan(values)
    upper = np.where(known, values, 0.0) * 2.0 ** (scale.bits - scale.split)
    whole = np.trunc(upper)
    with np.errstate(invalid="ignore"):
        high = whole.astype(np.int64)
    low = ((upper - whole) * 2.0**scale.split).astype(np.int64)
    yield "n", known.astype(np.int64)
    yield "sum", (high << scale.split) + low
    if squares:
        yield "high", high * high
        yield "cross", high * low
        yield "low", low * low


def mean(name: str, scale: Scale) -> pl.Expr:
    """The mean, of the sums called NAME.n and NAME.sum; null without values."""
    n = pl.col(f"{name}.n")
    return pl.when(n > 0).then(pl.col(f"{name}.sum").cast(pl.Float64) / (n * 2.0**scale.bits))


def variance(name: str, scale: Scale, ddof: int = 0) -> pl.Expr:
    """`(n Q - S^2) / (n (n - ddof))` of n values with sum S and sum of squares Q, exact up to the division.

    0 where all values are equal, null where there are no more than `ddof`.
    """
    n, total = pl.col(f"{name}.n"), pl.col(f"{name}.sum").cast(pl.Int128)
    high, cross, low = (pl.col(f"{name}.{part}").cast(pl.Int128) for part in ("high", "cross", "low"))
    squares = (high * 2**scale.split + 2 * cross) * 2**scale.split + low
    above = (n.cast(pl.Int128) * squares - total * total).cast(pl.Float64)
    return pl.when(n > ddof).then(above / 2.0 ** (2 * scale.bits) / (n * (n - ddof)))
