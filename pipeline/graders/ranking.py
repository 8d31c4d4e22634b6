"""All tries of a task scored side by side in one call, as OpenPipe's RULER does (ART, 2025).

A judge tells better from worse more surely than it gives a number to one try alone, and a group needs no more than
that: advantages are taken within it. Tries that read alike are shown once and share a score; the order shown comes
from their content, so that it says nothing about which was played first.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pipeline.graders.fences import tag_of
from pipeline.graders.judging import UNKNOWN, Ranked, RankedOne, request, said, silent, told, why
from pipeline.graders.verdict import verdict
from pipeline.graders.view import View
from pipeline.judge_params import RankingParams
from pipeline.records import Grade
from pipeline.remote.chat import Chat
from pipeline.remote.memory import Memory
from pipeline.remote.spending import in_order
from pipeline.remote.structured import Asked, ask_for


@dataclass(frozen=True, slots=True)
class Heat:
    """The tries of one task: rows by transcript, in the order in which the judge sees them."""

    view: View
    rows: dict[str, list[int]]

    @property
    def ids(self) -> tuple[str, ...]:
        """What the tries are called, in order."""
        return tuple(f"try_{number}" for number in range(1, len(self.rows) + 1))


@dataclass(frozen=True, slots=True)
class RankingGrader:
    """One call a group; a group whose answer is missing or incomplete is null as a whole."""

    params: RankingParams
    memory: Memory

    def grade_groups(self, views: Sequence[View]) -> list[tuple[Grade, ...]]:
        """One grade a view, in order. Raises EndpointError when there is no judge at all."""
        grades = [verdict(self.params, None, silent(view)) for view in views]
        heats = self._heats(views)
        for heat in heats:
            self._put(heat, grades, f"{len(heat.rows)} different tries are more than `most` allows")
        fitting = [heat for heat in heats if len(heat.rows) <= self.params.most]
        with Chat(self.params.judge, self.memory) as chat:
            jobs = [partial(self._ask, chat, heat) for heat in fitting]
            answers = in_order(jobs, self.params.judge.budget, self.params.judge.concurrency)
        for heat, answer in zip(fitting, answers, strict=True):
            self._put(heat, grades, why(answer), answer.value)
        return [(grade,) for grade in grades]

    def _heats(self, views: Sequence[View]) -> list[Heat]:
        groups: dict[str, dict[str, list[int]]] = {}
        for row, view in enumerate(views):
            if not silent(view):
                groups.setdefault(view.group, {}).setdefault(told(view, self.params), []).append(row)
        return [
            Heat(views[min(map(min, rows.values()))], {text: rows[text] for text in sorted(rows, key=_place)})
            for rows in groups.values()
        ]

    def _ask(self, chat: Chat, heat: Heat) -> Asked[Ranked]:
        asked = (
            f"These are {len(heat.ids)} tries of the same task: {', '.join(heat.ids)}. Score each of them from 0 to 1, "
            f'relative to the others, or "unknown". What counts: {self.params.question}\nTries that did equally well '
            "get equal scores; even a small difference shows in the scores. Answer for every try once, with its id."
        )
        tries = list(zip(heat.ids, heat.rows, strict=True))

        def complain(answer: Ranked) -> str | None:
            return incomplete([one.id for one in answer.tries], heat.ids)

        return ask_for(chat, Ranked, request(self.params, heat.view, tries, asked), complain)

    def _put(self, heat: Heat, grades: list[Grade], fault: str, ranked: Ranked | None = None) -> None:
        places = {one.id: one for one in ranked.tries} if ranked else {}
        for name, rows in zip(heat.ids, heat.rows.values(), strict=True):
            for row in rows:
                grades[row] = self._grade(places.get(name), fault)

    def _grade(self, place: RankedOne | None, fault: str) -> Grade:
        if place is None:
            return verdict(self.params, None, fault)
        if place.score == UNKNOWN:
            return verdict(self.params, None, f"the judge cannot tell: {said(place.reasoning)}")
        return verdict(self.params, float(place.score), said(place.reasoning))


def incomplete(found: Sequence[str], wanted: Sequence[str]) -> str | None:
    """What is wrong with the ids of an answer; None when each stands there once and no other."""
    counts = Counter(found)
    faults = [f"{name} is missing" for name in wanted if name not in counts]
    faults += [f"{name} stands there {count} times" for name, count in counts.items() if count > 1]
    faults += [f"there is no {name[:40]!r}" for name in counts if name not in wanted]
    return "; ".join(faults) or None


def _place(text: str) -> str:
    return tag_of([text])
