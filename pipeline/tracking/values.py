"""Turning names and values into what MLflow accepts."""

import hashlib
import json
import math
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

MAX_KEY = 250
"""Characters of a metric's, param's or tag's name."""
MAX_PARAM = 6000
"""Characters of a param's value; MLflow cuts longer ones and says so only in its log."""

_WORDS = {"@": "_at_", "^": "_hat_"}
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_\-. /]")


def safe_name(name: str) -> str:
    """`name` in MLflow's alphabet: `pass@1` becomes `pass_at_1`, other strangers become `_`. Never empty."""
    for sign, word in _WORDS.items():
        name = name.replace(sign, word)
    name = _FORBIDDEN.sub("_", name)
    if posixpath.normpath(name) != name or name.startswith((".", "/")):
        name = name.replace("/", "_").strip(".") or "_"
    if len(name) > MAX_KEY:
        name = name[: MAX_KEY - 9] + "_" + hashlib.sha256(name.encode()).hexdigest()[:8]
    return name


def flatten(value: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Leaves of nested mappings with their dotted path; a sequence is one leaf."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def param_text(value: object) -> str:
    """A param's value as MLflow stores it; what is too long ends in the hash of the whole."""
    text = json.dumps(value, default=str) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)
    if len(text) <= MAX_PARAM:
        return text
    mark = f"... sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return text[: MAX_PARAM - len(mark)] + mark


def numbers(values: Mapping[str, object]) -> dict[str, float]:
    """The finite or infinite numbers among the leaves of `values`, by safe name; what is no number is left out.

    Scalars of numpy and torch count; null and NaN do not: a value that could not be had is absent, not zero.
    """
    found = {}
    for name, value in flatten(values):
        number = _number(value)
        if number is not None:
            found[safe_name(name)] = number
    return found


def _number(value: object) -> float | None:
    if value is None or isinstance(value, (str, bytes)):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever has __float__: int, bool, numpy and torch scalars
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
    return None if math.isnan(number) else number
