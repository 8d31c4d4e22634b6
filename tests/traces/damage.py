"""Damage done to recorded runs, kind by kind, for the fuzzing of their readers. All of it follows from a seed."""

import json
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import orjson

SHORT = 8000
"""A cap that the records of all seeds keep."""
MILLION = 1_000_000
"""Brackets inside brackets: a thousand times what the parser takes."""
SPLICES = [b"", b"\x00", b"\xff", b'"', b"{", b"}", b"[", b"]", b"\n", b"null", b"NaN", b"\\ud800", b"[" * 300, b"1e9",
           b"\\", b",", b":", b"\xed\xa0\x80", b"\r", b"<x>", b'\\"']  # fmt: skip
ODD: list[Any] = [
    None, True, 0, -1.5, "", "x", "\ud800", [], [None], {}, {"type": "x"}, [[[]]], [{}, 1], [[1], {"id": []}], {"": {}},
    10**30, 2**63, -(2**70), float("nan"), "9" * 5000, "1e999", "NaN", "9999-99-99T99:99:99Z", "{", '{"a": ', "\x00",
]  # fmt: skip
DEPTHS = (1, 2, 30, 200, 250, 253, 254, 255, 256, 300, 490, 900, 980, 1000, 1020, 1023, 1024, 1030, 5000)
HALVES = ("\ud800", "\udfff", "\udc00\ud83d", "\ud83d\ude00", "x\udbffy")
NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, "1" * 4400, "-0.0", "1E-999")

Spot = tuple[Any, Any]
"""A list or an object, and the index or key of something in it."""


def spliced(data: bytes, rng: random.Random) -> bytes:
    """Bytes cut out, put in, written over, doubled, or missing at the end: up to four times."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        kind = rng.random()
        if kind < 0.8:
            data = data[:at] + rng.choice(SPLICES) + data[at + rng.choice((0, 0, 1, 3, 40)) :]
        elif kind < 0.87:
            data = data[:at]
        elif kind < 0.94:
            data = data[:at] + rng.randbytes(4) + data[at + 4 :]
        else:
            data = data[: at + 30] + data[at:]
    return data


def copied(value: Any) -> Any:
    """The same value, no part of it shared."""
    return orjson.loads(orjson.dumps(value))


def spots(value: Any) -> list[Spot]:
    """Every place in a value that can be taken away or replaced."""
    found: list[Spot] = []
    stack = [value] if isinstance(value, dict | list) else []
    while stack:
        at = stack.pop()
        for key, inner in at.items() if isinstance(at, dict) else enumerate(at):
            found.append((at, key))
            if isinstance(inner, dict | list):
                stack.append(inner)
    return found


def swapped(row: Any, rng: random.Random) -> str:
    """Places replaced by something of another kind."""
    for _ in range(rng.randint(1, 3)):
        holder, key = rng.choice(spots(row) or [([0], 0)])
        holder[key] = deepcopy(rng.choice(ODD))
    return json.dumps(row)


def dropped(row: Any, rng: random.Random) -> str:
    """Keys and elements taken away, doubled, or under another's name."""
    for _ in range(rng.randint(1, 3)):
        found = spots(row)
        if not found:
            break
        holder, key = rng.choice(found)
        other_holder, other_key = rng.choice(found)
        kind = rng.random()
        if kind < 0.6:
            del holder[key]
        elif kind < 0.8 and isinstance(holder, list):
            holder.insert(key, holder[key])
        else:
            holder[key] = copied(other_holder[other_key])
    return json.dumps(row)


def cut_texts(row: Any, rng: random.Random) -> str:
    """Texts cut and spliced inside valid JSON: what readers parse once more (arguments, tags, times) is broken."""
    texts = [(holder, key) for holder, key in spots(row) if isinstance(holder[key], str)]
    for holder, key in rng.sample(texts, min(len(texts), rng.randint(1, 3))):
        holder[key] = spliced(holder[key].encode(), rng).decode("utf-8", "replace")
    return json.dumps(row)


def _hung(row: Any, rng: random.Random, text: str) -> str:
    """The row as JSON with `text` in one place, in the place of a value or (quoted) inside one."""
    holder, key = rng.choice(spots(row) or [([0], 0)])
    holder[key] = "HERE"
    return json.dumps(row).replace('"HERE"', text)


def nested(row: Any, rng: random.Random) -> str:
    """A place wrapped in lists or objects; or as text that holds such, which readers may parse."""
    depth = rng.choice(DEPTHS)
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}"), ('{"function":', "}"), ('[{"content":', "}]")))
    deep = opening * depth + "1" + closing * depth
    return _hung(row, rng, rng.choice((deep, deep, json.dumps(deep), json.dumps(opening * depth))))


def halved(row: Any, rng: random.Random) -> str:
    """Lone surrogates in texts and keys, and numbers that are none or that no machine holds."""
    if rng.random() < 0.4:
        return _hung(row, rng, rng.choice(NUMBERS))
    found = spots(row)
    for holder, key in rng.sample(found, min(len(found), rng.randint(1, 3))):
        if isinstance(holder[key], str):
            holder[key] += rng.choice(HALVES)
        elif isinstance(holder, dict):
            holder[key + rng.choice(HALVES)] = holder.pop(key)
    return json.dumps(row, ensure_ascii=rng.random() < 0.7)


def endless(row: Any, rng: random.Random) -> str:
    """A place nested a million deep, closed or not."""
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}")))
    return _hung(row, rng, opening * MILLION + closing * rng.choice((MILLION, 0)))


def overlong(row: Any, rng: random.Random) -> str:
    """A place that makes its record longer than `SHORT`."""
    return _hung(row, rng, rng.choice((json.dumps("x" * 9000), json.dumps(["y"] * 3000), "[" + " " * 9000 + "]")))


KINDS: dict[str, Callable[[Any, random.Random], str]] = {
    "types": swapped, "keys": dropped, "texts": cut_texts, "nesting": nested, "surrogates": halved, "length": overlong,
}  # fmt: skip
"""Damage to one record that leaves the others alone."""


def framed(texts: list[str], frame: str) -> bytes:
    """A file of records given as JSON: lines, an array on one line or over many, objects one after the other."""
    if frame == "lines":
        joined = "\n".join(texts) + "\n"
    elif frame == "array":
        joined = f"[{', '.join(texts)}]"
    else:
        opened = [text[:1] + "\n" + text[1:] for text in texts]
        joined = "\n".join(opened) if frame == "objects" else "[\n" + ",\n".join(opened) + "\n]"
    return joined.encode("utf-8", "surrogatepass")


FRAMES = ("lines", "array", "spread", "objects")
