"""How a tiny model reads questions: word by word, so that another wording leaves most of its tokens as they were.

All other text of an episode is merged across words, since it is the same everywhere. A question is not: where merges
span a whole phrase, the same request in other words falls into tokens that training never showed. Here each word that
questions use again and again is one token wherever it stands, and any other word is spelled letter by letter. Letters
are trained by spelling words of a share of the questions, as BPE-dropout (arXiv 1910.13267) does with all text. Words
of these questions also change places, as by the random swap of EDA (arXiv 1901.11196): ids then stand anywhere, and
have to be found by what they are. Both is only done where valid asks in words that no demonstration has.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from transformers import PreTrainedTokenizerBase

SPELLS = "spells_unseen_words"
"""Key of a tiny model's tokenizer: there are words to come that no demonstration has."""
_ASKED = re.compile(r"<\|im_start\|>user\n(?!<tool_response>)(.*?)<\|im_end\|>", re.DOTALL)
_WORD = re.compile(r"[^\W\d_](?:[^\W\d]|['-])*")
_FREQUENT = 0.02
"""A word of so many questions, as a share of the episodes of one kind, is a token of its own."""
_ROWS = 0.5
"""Share of the rows in whose question words change places and are spelled."""
_SPELLED = 0.6
"""Probability that a word is spelled, in a question where words are."""


def questions(text: str) -> list[str]:
    """What the user says in a rendered episode, in order."""
    return _ASKED.findall(text)


def words_of(texts: Iterable[str]) -> set[str]:
    """Words of some texts; the prefix of an id (`C-`) is one, its digits are none."""
    return {word for text in texts for word in _WORD.findall(text)}


def frequent_words(texts: Sequence[str], kinds: int) -> list[str]:
    """Words that questions of rendered episodes use often, longest first; `kinds` as in `tiny.build_tokenizer`."""
    counts = Counter(word for text in texts for word in words_of(questions(text)))
    least = _FREQUENT * len(texts) / kinds
    return sorted((word for word, count in counts.items() if count >= least), key=lambda word: (-len(word), word))


def question_pattern(words: Sequence[str]) -> str:
    r"""A regular expression (Oniguruma's) that cuts what the user says into `words`, letters, digits and signs.

    It matches nothing in other texts: `\G` ties each match to the end of the one before, the first to the user's turn.
    """
    whole = "|".join(map(re.escape, words))
    word = rf"(?:{whole})(?![\p{{L}}_'-]) ?|" if words else ""
    return rf"\Auser\n(?!<tool_response>)|\G(?!\A)(?:{word}[^\p{{L}}\d\s] ?|\p{{L}}|\d|\s)"


class Speller:
    """Words questions otherwise in rows of tokens: the same words, in another order, some of them spelled."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, seed: int) -> None:
        """Rows are only changed where the tokenizer says that words to come are unseen."""
        self._rng = random.Random(f"spell-{seed}")
        self._tokenizer = tokenizer
        self._share = _ROWS if tokenizer.init_kwargs.get(SPELLS) else 0.0
        self._ids = tokenizer.get_vocab() if self._share else {}
        self._tokens = {number: token for token, number in self._ids.items()}

    def __call__(self, ids: Sequence[int], mask: Sequence[int]) -> tuple[list[int], list[int]]:
        """Ids and mask, perhaps with the words of the first question elsewhere and spelled; all else is the same."""
        opening = self._ids.get("user\u010a")
        if self._rng.random() >= self._share or opening not in ids:
            return list(ids), list(mask)
        start = ids.index(opening) + 1
        end = ids.index(self._ids["<|im_end|>"], start)
        words = str(self._tokenizer.decode(list(ids[start:end]))).split(" ")
        self._rng.shuffle(words)
        asked = [each for token in self._read(" ".join(words)) for each in self._spelled(token)]
        return [*ids[:start], *asked, *ids[end:]], [*mask[:start], *[0] * len(asked), *mask[end:]]

    def _read(self, asked: str) -> list[int]:
        return list(self._tokenizer.encode(f"<|im_start|>user\n{asked}<|im_end|>"))[2:-1]

    def _spelled(self, number: int) -> Iterator[int]:
        token = self._tokens[number]
        if len(token) > 2 and self._rng.random() < _SPELLED:  # a word; what is shorter is a letter, a sign, or "C-"
            yield from (self._ids[letter] for letter in token)
        else:
            yield number
