"""Limits on the length of an episode."""

from dataclasses import dataclass

from pipeline.grader_params import TranscriptParams
from pipeline.graders.verdict import verdict
from pipeline.graders.view import View
from pipeline.records import Grade


@dataclass(frozen=True, slots=True)
class TranscriptGrader:
    """1 within all limits, else `limit / actual` of the one that is exceeded most; null where a count is unknown."""

    params: TranscriptParams

    def grade(self, view: View) -> tuple[Grade, ...]:
        """One grade of the episode."""
        limits = (
            ("turns", view.turns, self.params.max_turns),
            ("calls", len(view.made), self.params.max_calls),
            ("tokens", view.tokens, self.params.max_tokens),
        )
        score, faults = 1.0, []
        for what, actual, limit in limits:
            if limit is None:
                continue
            if actual is None:
                return (verdict(self.params, None, f"the number of {what} is not known"),)
            if actual > limit:
                score = min(score, limit / actual)
                faults.append(f"{actual} {what} where {limit} are allowed")
        return (verdict(self.params, score, "; ".join(faults) or "within all limits"),)
