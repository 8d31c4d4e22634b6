"""Scores as formats write them (numbers, booleans, letters, objects of these) in the one form that a trace has."""

import math
from collections.abc import Mapping
from typing import Any

LONGEST = 1000
"""Characters of a name that still names a score: objects in objects would make endless ones of long keys."""


def flat_scores(name: str, value: Any, words: Mapping[str, float] | None = None) -> dict[str, float]:
    """`value` under `name`; of an object, each part under `name.part` (or its own name where `name` is empty).

    A boolean is 1 or 0; a word is what `words` says. What is no score, NaN and Infinity are left out, and so are parts
    of a name longer than `LONGEST`.
    """
    found: dict[str, float] = {}
    waiting: list[tuple[str, Any]] = [(name, value)]
    for place, each in waiting:
        if isinstance(each, Mapping) and len(place) <= LONGEST:
            waiting += ((f"{place}.{key}" if place else str(key), part) for key, part in each.items())
        elif isinstance(each, int | float) and math.isfinite(each):
            found[place] = float(each)
        elif isinstance(each, str) and words is not None and each in words:
            found[place] = words[each]
    return found
