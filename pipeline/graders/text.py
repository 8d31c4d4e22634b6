"""The agent's final answer against what was expected: exactly, by a pattern, roughly, or as a number."""

from dataclasses import dataclass

import regex

from pipeline.condition import LONGEST_TEXT, MISSING, compiled, matches, path_parts, places
from pipeline.errors import GraderFault
from pipeline.grader_params import TextParams
from pipeline.graders.fuzzy import likeness
from pipeline.graders.verdict import verdict
from pipeline.graders.view import View
from pipeline.records import Grade

_NUMBER = regex.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?(?![\w]|\.\d)")


@dataclass(frozen=True, slots=True)
class TextGrader:
    """Score of the best of the expected answers; 0 when the agent did not answer."""

    params: TextParams

    def grade(self, view: View) -> tuple[Grade, ...]:
        """One grade of the episode. Raises GraderFault where the task does not hold what is expected."""
        wanted = self._wanted(view)
        if view.answer is None:
            return (verdict(self.params, 0.0, "the episode ended without an answer"),)
        score = max(self._score(each, view.answer) for each in wanted)
        said = " or ".join(repr(each) for each in wanted)
        return (verdict(self.params, score, f"{self.params.match}: {_short(view.answer)!r}, expected {_short(said)}"),)

    def _wanted(self, view: View) -> list[object]:
        if self.params.expected_at is None:
            return [self.params.expected]
        known = {"golden": view.golden_state, "initial": view.initial_state, "knobs": view.knobs}
        found = [value for _, value, _ in places(path_parts(self.params.expected_at), known) if value is not MISSING]
        if not found:
            raise GraderFault(f"the task holds nothing at {self.params.expected_at}")
        return found

    def _score(self, wanted: object, answer: str) -> float:
        match self.params.match:
            case "regex":
                flags = regex.IGNORECASE if self.params.ignore_case else 0
                return float(matches(compiled(str(wanted), flags), answer.strip(), whole=self.params.whole))
            case "number":
                return float(_near(wanted, answer, self.params))
            case "fuzzy":
                return likeness(self._plain(wanted), self._plain(answer), whole=self.params.whole)
            case "exact":
                return float(self._plain(wanted) == self._plain(answer))

    def _plain(self, value: object) -> str:
        """One space for each run of white space, and one case where case does not matter."""
        text = " ".join(str(value).split())
        return text.casefold() if self.params.ignore_case else text


def last_number(answer: str, *, whole: bool) -> float | None:
    """The last number in `answer`, or the one that it consists of; 1,234.5 has thousands, 3.4e2 an exponent."""
    if whole:
        found = [answer.strip()] if _NUMBER.fullmatch(answer.strip()) else []
    else:
        found = [match.group() for match in _NUMBER.finditer(answer[-LONGEST_TEXT:])]
    return float(found[-1].replace(",", "")) if found else None


def _near(wanted: object, answer: str, params: TextParams) -> bool:
    target = last_number(wanted, whole=True) if isinstance(wanted, str) else wanted
    if not isinstance(target, int | float) or isinstance(target, bool):
        raise GraderFault(f"what is expected is no number: {_short(str(wanted))}")
    number = last_number(answer, whole=params.whole)
    return number is not None and abs(number - target) <= params.tolerance


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:119]}…"
