"""Tries of one task compared in pairs, each pair in both orders.

Judges favour a place (Wang et al. 2023, arXiv 2305.17926), so a verdict counts only when it survives the swap: a judge
that names the same place twice has said nothing about the tries, and that pair is null.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pipeline.graders.judging import UNKNOWN, Preferred, request, said, silent, told, why
from pipeline.graders.verdict import verdict
from pipeline.graders.view import View
from pipeline.judge_params import PairwiseParams
from pipeline.records import Grade
from pipeline.remote.chat import Chat
from pipeline.remote.memory import Memory
from pipeline.remote.spending import in_order
from pipeline.remote.structured import Asked, ask_for

TIE = 0.5


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two tries by their rows, and the first one's points: 1, 0.5, 0, or None with the reason."""

    first: int
    second: int
    points: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class PairwiseGrader:
    """A try's score is the mean of its points over the meetings that count; null when none does."""

    params: PairwiseParams
    memory: Memory

    def grade_groups(self, views: Sequence[View]) -> list[tuple[Grade, ...]]:
        """One grade a view, in order. Raises EndpointError when there is no judge at all."""
        texts = [told(view, self.params) for view in views]
        pairs = meetings(views, self.params.opponents)
        asked = [pair for pair in pairs if texts[pair[0]] != texts[pair[1]]]
        with Chat(self.params.judge, self.memory) as chat:
            jobs = [
                partial(self._ask, chat, views[first], texts[one], texts[other])
                for first, second in asked for one, other in ((first, second), (second, first))
            ]  # fmt: skip
            answers = iter(in_order(jobs, self.params.judge.budget, self.params.judge.concurrency))
        met = [
            decide(*pair, next(answers), next(answers)) if texts[pair[0]] != texts[pair[1]]
            else Meeting(*pair, TIE, "both tries are alike")
            for pair in pairs
        ]  # fmt: skip
        return [(self._grade(view, row, met),) for row, view in enumerate(views)]

    def _ask(self, chat: Chat, view: View, first: str, second: str) -> Asked[Preferred]:
        asked = (
            f"Compare two tries of the same task, TRY_FIRST and TRY_SECOND. What counts: {self.params.question}\n"
            "Answer with reasoning and which one is better: first, second, tie, or unknown. Their order means nothing."
        )
        tries = [("TRY_FIRST", first), ("TRY_SECOND", second)]
        return ask_for(chat, Preferred, request(self.params, view, tries, asked))

    def _grade(self, view: View, row: int, met: Sequence[Meeting]) -> Grade:
        own = [one if one.first == row else _turned(one) for one in met if row in (one.first, one.second)]
        known = [one for one in own if one.points is not None]
        if not known:
            reasons = "; ".join(dict.fromkeys(one.reason for one in own))
            return verdict(self.params, None, said(reasons) or silent(view) or "there is no other try to compare with")
        score = sum(one.points or 0.0 for one in known) / len(known)
        reason = said(f"{len(known)} of {len(own)} comparisons count; {known[0].reason}")
        return verdict(self.params, score, reason)


def meetings(views: Sequence[View], opponents: int) -> list[tuple[int, int]]:
    """Pairs of rows: each try of a group with the `opponents` behind it in a ring, no pair twice."""
    groups: dict[str, list[int]] = {}
    for row, view in enumerate(views):
        if not silent(view):
            groups.setdefault(view.group, []).append(row)
    pairs: dict[tuple[int, int], None] = {}
    for rows in groups.values():
        for place, row in enumerate(rows):
            for step in range(1, min(opponents, len(rows) - 1) + 1):
                other = rows[(place + step) % len(rows)]
                pairs[min(row, other), max(row, other)] = None
    return list(pairs)


def decide(first: int, second: int, straight: Asked[Preferred], swapped: Asked[Preferred]) -> Meeting:
    """One meeting from its two verdicts; `swapped` saw the second try first."""
    one, reason = _points(straight)
    other, other_reason = _points(swapped)
    if one is None or other is None:
        return Meeting(first, second, None, reason if one is None else other_reason)
    if one == other != TIE:
        return Meeting(first, second, None, "the judge changed its mind when the order was swapped")
    return Meeting(first, second, one if one + other == 1.0 else TIE, reason)


def _points(answer: Asked[Preferred]) -> tuple[float | None, str]:
    """Points of the try that stood first in a request, and what the judge said."""
    if answer.value is None:
        return None, why(answer)
    if answer.value.better == UNKNOWN:
        return None, f"the judge cannot tell: {answer.value.reasoning}"
    return {"first": 1.0, "tie": TIE, "second": 0.0}[answer.value.better], answer.value.reasoning


def _turned(meeting: Meeting) -> Meeting:
    points = None if meeting.points is None else 1.0 - meeting.points
    return Meeting(meeting.second, meeting.first, points, meeting.reason)
