"""How much alike two texts are, by the edits that lead from one to the other.

Levenshtein's distance, row by row of the usual table; a row is one pass over arrays, because the cheapest way through
insertions is a running minimum. The `regex` module can match with edits too, but its search is exponential in them.
"""

import numpy as np
from numpy.typing import NDArray

LONGEST = 4_000
"""Characters compared; what follows is not looked at. A comparison of two such texts takes well under a second."""


def likeness(wanted: str, text: str, *, whole: bool) -> float:
    """1 - edits / length, in [0, 1]: of `wanted` and all of `text`, over the longer one's length; else of `wanted` and
    the part of `text` that is nearest to it, over the length of `wanted`.
    """
    wanted, text = wanted[:LONGEST], text[:LONGEST]
    if not wanted:
        return float(not whole or not text)
    length = max(len(wanted), len(text)) if whole else len(wanted)
    return 1 - _edits(wanted, text, anywhere=not whole) / length


def _edits(wanted: str, text: str, *, anywhere: bool) -> int:
    """Fewest insertions, deletions and replacements from `wanted` to `text`, or to any part of it."""
    letters, places = _codes(text), np.arange(len(text) + 1)
    row = np.zeros_like(places) if anywhere else places
    for number, letter in enumerate(_codes(wanted), start=1):
        following = np.empty_like(row)
        following[0] = number
        following[1:] = np.minimum(row[:-1] + (letters != letter), row[1:] + 1)
        row = np.minimum.accumulate(following - places) + places
    return int(row.min() if anywhere else row[-1])


def _codes(text: str) -> NDArray[np.int64]:
    return np.fromiter(map(ord, text), dtype=np.int64, count=len(text))
