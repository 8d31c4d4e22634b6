"""A simulated user: whoever asked the question, and can be asked back.

An environment that wants one sets its attribute `user` in `reset` to a `UserScript`. A turn of the agent without a tool
call then goes to the user, until the user is done. The script is played as it stands (this module) or by a model that
reads it as instructions (`model_user`).
"""

import random
import re
from functools import lru_cache
from typing import Annotated, Protocol

from pydantic import Field, model_validator

from pipeline.errors import RehearsalError
from pipeline.section import Positive, Section

Phrase = Annotated[str, Field(min_length=1, max_length=2000)]
Phrases = Annotated[tuple[Phrase, ...], Field(min_length=1)]

VALUE = "{value}"
"""Stands for a fact's value in what the user says."""


class UserFault(RehearsalError, RuntimeError):
    """The simulated user failed or broke its instructions: not the agent's doing, the rollout's grades are null."""


class Fact(Section):
    """Something the user knows and tells when asked."""

    asked: Phrases
    """Words, in any case, that ask for it when they stand in a sentence that asks."""
    says: Phrases = (VALUE,)
    """Ways to tell it; `{value}` becomes the value."""
    value: str = ""
    """Of this task; see `UserScript.with_values`."""
    guarded: bool = True
    """A model that plays the user breaks its instructions when it tells this before it was asked."""


class UserScript(Section):
    """A user by intent: what it wants, what it knows, how it speaks."""

    intent: Annotated[str, Field(min_length=1, max_length=4000)]
    """What the user wants and how it behaves, in words; a scripted user does not read it, a model does."""
    knows: dict[str, Fact] = Field(default_factory=dict)
    """Facts by name."""
    unknown: Phrases = ("I do not know.",)
    """Answers to a question about anything else."""
    then: tuple[Phrase, ...] = ()
    """Further requests, one each time the agent has nothing more to ask; the user is done behind the last."""
    asking: Phrases = ("please", "tell me", "give me", "provide", "let me know", "i need", "confirm")
    """Words that make a sentence without a question mark ask for something."""
    max_turns: Positive = 8
    """Answers after which the episode ends with `max_turns`."""
    longest: Positive = 600
    """Characters of an answer beyond which a model that plays the user breaks its instructions."""

    @model_validator(mode="after")
    def _values_have_a_place(self) -> "UserScript":
        for name, fact in self.knows.items():
            if fact.value and not any(VALUE in text for text in fact.says):
                raise ValueError(f"fact {name!r} has a value, but none of its phrases says {VALUE}")
        return self

    def with_values(self, values: dict[str, str]) -> "UserScript":
        """The script for one task: facts named in `values` get these. Raises ValueError for a name it does not know."""
        unknown = sorted(set(values) - set(self.knows))
        if unknown:
            raise ValueError(f"the user knows no {unknown[0]!r}; known are {', '.join(self.knows) or 'none'}")
        told = {name: fact.model_copy(update={"value": values.get(name, fact.value)})
                for name, fact in self.knows.items()}  # fmt: skip
        return self.model_copy(update={"knows": told})

    def missing(self) -> str | None:
        """The first fact whose phrases want a value that it does not have."""
        wanting = (name for name, fact in self.knows.items() if not fact.value and any(VALUE in t for t in fact.says))
        return next(wanting, None)

    def asked_for(self, said: str) -> list[str]:
        """Names of the facts that the agent's words ask for, in the order of its sentences."""
        names = [
            name for sentence in self.questions(said) for name, fact in self.knows.items()
            if _words(fact.asked).search(sentence)
        ]  # fmt: skip
        return list(dict.fromkeys(names))

    def questions(self, said: str) -> list[str]:
        """Sentences that ask for something."""
        sentences = re.split(r"(?<=[.?!])\s+|\n\s*\n", said)
        return [one for one in sentences if one.rstrip().endswith("?") or _words(self.asking).search(one)]


class User(Protocol):
    """Whom the agent talks to in one episode."""

    def answer(self, said: str) -> str | None:
        """What the user says to the agent's words; None when it is done. Raises UserFault."""


class ScriptedUser:
    """Plays a script as it stands. The same seed and the same words of the agent give the same answers."""

    def __init__(self, script: UserScript, seed: str) -> None:
        self._script, self._seed, self._turn, self._requests = script, seed, 0, list(script.then)

    def answer(self, said: str) -> str | None:
        """See `User.answer`; never raises."""
        self._turn += 1
        if names := self._script.asked_for(said):
            return " ".join(self._tell(name) for name in names)
        if self._script.questions(said):
            return self._choose("unknown", self._script.unknown)
        return self._requests.pop(0) if self._requests else None

    def _tell(self, name: str) -> str:
        fact = self._script.knows[name]
        return self._choose(name, fact.says).replace(VALUE, fact.value)

    def _choose(self, what: str, phrases: tuple[str, ...]) -> str:
        return random.Random(f"{self._seed} {self._turn} {what}").choice(phrases)


@lru_cache(maxsize=4096)
def _words(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """Matches any of the phrases as whole words, in any case, with any white space between."""
    ways = (r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases)
    return re.compile(rf"(?<!\w)(?:{'|'.join(ways)})(?!\w)", re.IGNORECASE)
