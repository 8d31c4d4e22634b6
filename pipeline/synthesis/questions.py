"""Questions: a phrase of the template with names filled in, and what may surround it.

Phrases are data: only plain `{name}` stands for something, and only names that the spec's check let through.
"""

import random
import string
from dataclasses import dataclass

from pipeline.environments.declared.compiled import CompiledTemplate
from pipeline.environments.declared.expressions import Lookup
from pipeline.environments.declared.spec import Spec
from pipeline.records import JsonObject, Split


@dataclass(frozen=True, slots=True)
class Noise:
    """Probabilities in [0, 1] that a question gets a sentence beside the point, or one at odds with the records."""

    aside: float = 0.0
    contradiction: float = 0.0


def ask(
    rng: random.Random, template: CompiledTemplate, split: Split, lookup: Lookup, spec: Spec, noise: Noise
) -> tuple[str, JsonObject]:
    """A question and the knobs that tell what surrounds it. Held-out phrases belong to valid and eval."""
    phrases = template.held_out if split != "train" and template.held_out else template.phrases
    parts = [fill(rng.choice(phrases), lookup)]
    knobs: JsonObject = {}
    if spec.asides and rng.random() < noise.aside:
        parts.insert(0, fill(rng.choice(spec.asides), lookup))
        knobs["aside"] = 1
    if spec.contradictions and rng.random() < noise.contradiction:
        parts.append(fill(rng.choice(spec.contradictions), lookup))
        knobs["contradiction"] = 1
    return " ".join(parts), knobs


def fill(phrase: str, lookup: Lookup) -> str:
    """Replace every `{name}` by the value of that name, as text."""
    parts = string.Formatter().parse(phrase)
    return "".join(text + (str(lookup(name)) if name is not None else "") for text, name, _, _ in parts)
