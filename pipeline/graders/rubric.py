"""A judge's answers to questions about one episode: one call and one grade a dimension."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pipeline.graders.judging import UNKNOWN, Scored, request, said, silent, told, why
from pipeline.graders.verdict import verdict
from pipeline.graders.view import View
from pipeline.judge_params import Dimension, RubricParams
from pipeline.records import Grade, JsonObject
from pipeline.remote.chat import Chat
from pipeline.remote.memory import Memory
from pipeline.remote.spending import in_order
from pipeline.remote.structured import Asked, ask_for


@dataclass(frozen=True, slots=True)
class RubricGrader:
    """Asks for every episode and every dimension; what the judge cannot tell, or does not answer, is null."""

    params: RubricParams
    memory: Memory

    def grade_groups(self, views: Sequence[View]) -> list[tuple[Grade, ...]]:
        """One grade a dimension for each view, in order. Raises EndpointError when there is no judge at all."""
        pairs = [(view, dimension) for view in views for dimension in self.params.dimensions]
        with Chat(self.params.judge, self.memory) as chat:
            jobs = [partial(self._ask, chat, view, dimension) for view, dimension in pairs if not silent(view)]
            answers = iter(in_order(jobs, self.params.judge.budget, self.params.judge.concurrency))
        return [
            tuple(self._grade(view, dimension, None if silent(view) else next(answers))
                  for dimension in self.params.dimensions)
            for view in views
        ]  # fmt: skip

    def _ask(self, chat: Chat, view: View, dimension: Dimension) -> Asked[Scored]:
        top = len(dimension.levels) - 1

        def complain(answer: Scored) -> str | None:
            fits = answer.score == UNKNOWN or 0 <= int(answer.score) <= top
            return None if fits else f'score is {answer.score}, it must be 0 to {top} or "unknown"'

        return ask_for(chat, Scored, self.messages(view, dimension), complain)

    def messages(self, view: View, dimension: Dimension) -> list[JsonObject]:
        """What the judge is asked."""
        levels = "; ".join(f"{number} = {level}" for number, level in enumerate(dimension.levels))
        asked = (
            f"Question about the transcript: {dimension.question}\nAnswer with reasoning and a score. The scores: "
            f'{levels}; "unknown" = the transcript does not show it.'
        )
        return request(self.params, view, [("TRANSCRIPT", told(view, self.params))], asked)

    def _grade(self, view: View, dimension: Dimension, answer: Asked[Scored] | None) -> Grade:
        name = self.params.grade_name(dimension)
        if answer is None:
            return verdict(self.params, None, silent(view), name=name)
        if answer.value is None:
            return verdict(self.params, None, why(answer), name=name)
        reasoning = said(answer.value.reasoning)
        if answer.value.score == UNKNOWN:
            return verdict(self.params, None, f"the judge cannot tell: {reasoning}", name=name)
        return verdict(self.params, int(answer.value.score) / (len(dimension.levels) - 1), reasoning, name=name)
