"""The words of a walk: how a row is spoken of, and one sentence for all that is asked."""

import random
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.environments.declared.compiled import CompiledTool
from pipeline.environments.declared.judging import Call
from pipeline.environments.declared.spec import Walks
from pipeline.records import Split


@dataclass(slots=True)
class Reference:
    """How the question speaks of a row, and the calls and words by which it is found before."""

    words: str
    calls: list[Call] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    found: dict[str, str] = field(default_factory=dict)
    """Table to the row that "that ..." stands for from here on: the one named or found last."""


def phrase(tool: CompiledTool, words: dict[str, str], rows: dict[str, str]) -> str:
    """A tool's intent with its values; "claim {claim_id}" becomes "that claim", never "claim that claim"."""
    text = tool.spec.intent or ""
    for name, row in rows.items():
        if words[name] == f"that {row}":
            place = f"{{{name}}}"
            text = re.sub(rf"(?:\bthe )?\b{re.escape(row)} {re.escape(place)}", place, text)
    return _filled(text, words)


def _filled(text: str, words: dict[str, str]) -> str:
    """Names in braces replaced by their words, in one pass: what a word holds is not looked at again."""
    parts = string.Formatter().parse(text)
    return "".join(plain + (words[name] if name is not None else "") for plain, name, _, _ in parts)


def asked(rng: random.Random, spec: Walks, split: Split, said: Sequence[str]) -> str:
    """All that is asked, in one sentence. Held-out phrases belong to valid and eval."""
    phrases = spec.held_out if split != "train" and spec.held_out else spec.phrases
    *before, last = said
    deeds = f"{', '.join(before)}, then {last}" if before else last
    text = _filled(rng.choice(phrases), {"deeds": deeds})
    return text[0].upper() + text[1:]
