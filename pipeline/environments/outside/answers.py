"""A question with one right answer, no tools, no procedure: what is said in the last turn is all there is."""

import re
from typing import Any

from pipeline.environments.base import Environment
from pipeline.graders.reward import OUTCOME
from pipeline.records import Grade, JsonObject

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


class AnswerEnvironment(Environment):
    """The outcome is 1 when the last turn says what was asked for, else 0. There is no process to grade."""

    instant = True

    def reset(self, **task: Any) -> str | None:
        """Load `golden_state`: {"text": the exact answer} or {"number": the number to end on}; the rest is ignored."""
        self._wanted: JsonObject = task["golden_state"]
        self.said = ""
        self.refused = 0
        return None

    def _state(self) -> JsonObject:
        if "number" in self._wanted:
            return {"number": last_number(self.said)}
        return {"text": self.said.strip()}

    def _grade(self) -> tuple[Grade, ...]:
        found = self._state()
        passed = found == self._wanted
        reason = "the answer is right" if passed else f"answered {found}, wanted {self._wanted}"
        return (Grade(OUTCOME, "outcome", float(passed), passed, reason=reason),)


def last_number(text: str) -> float | None:
    """The last number in `text`, its commas read as thousands; None when there is none."""
    found = _NUMBER.findall(text)
    return float(found[-1].replace(",", "")) if found else None
