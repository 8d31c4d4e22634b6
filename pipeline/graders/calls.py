"""Which calls were made, which not, and in which order, with a grade on the turn where each thing happened.

A call counts as made when the environment took it: its arguments could be read, and its answer is not one that
`failed` describes. A forbidden call counts even when it was refused, and so does one that came too early.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.condition import Condition, compiled, matches, path_parts, places, same
from pipeline.errors import GraderFault
from pipeline.grader_params import CallRule, OrderRule, ToolCallsParams
from pipeline.graders.verdict import verdict
from pipeline.graders.view import Made, View
from pipeline.records import Grade, JsonObject
from pipeline.tables import dumps


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule found: its score and weight, why, and the turns that it is about with a score of their own."""

    score: float
    weight: float
    reason: str
    turns: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCallsGrader:
    """Weighted mean of the rules; each rule's findings on turns stand beside it."""

    params: ToolCallsParams

    def grade(self, view: View) -> tuple[Grade, ...]:
        """One grade of the episode, then those on turns. Raises GraderFault where golden calls are not known."""
        findings = [*self._found(view, [self._taken(made) for made in view.made])]
        weight = sum(finding.weight for finding in findings)
        score = sum(finding.weight * finding.score for finding in findings) / weight if weight else 1.0
        faults = [finding.reason for finding in findings if finding.score < 1]
        whole = verdict(self.params, min(1.0, score), "; ".join(faults) or "the calls are as they should be")
        return whole, *(
            verdict(self.params, turn_score, finding.reason, turn=turn, weight=finding.weight)
            for finding in findings
            for turn, turn_score in finding.turns
        )

    def _found(self, view: View, taken: list[bool]) -> Iterator[Finding]:
        made = [one for one, was_taken in zip(view.made, taken, strict=True) if was_taken]
        yield from (_required(rule, made) for rule in self.params.required)
        if self.params.golden:
            yield from _golden(view, made)
        yield from (_forbidden(rule, view.made) for rule in self.params.forbidden)
        yield from (_ordered(rule, view.made, taken) for rule in self.params.order)
        if self.params.repeats is not None:
            yield _repeats(self.params.repeats, view.made)

    def _taken(self, made: Made) -> bool:
        if made.call.arguments is None:
            return False
        return made.answer is None or not matches(compiled(self.params.failed), made.answer)


def meets(made: Made, rule: CallRule) -> bool:
    """Whether a call is one that the rule means. Raises GraderFault when a pattern takes too long."""
    return made.call.name == rule.tool and all(
        _argument_meets(made.call.arguments, path, wanted) for path, wanted in rule.arguments.items()
    )


def _argument_meets(arguments: JsonObject | None, path: str, wanted: Condition) -> bool:
    if arguments is None:
        return False
    return all(wanted.fault(found) is None for _, found, _ in places(path_parts(path), arguments))


def _required(rule: CallRule, taken: list[Made]) -> Finding:
    first = next((made for made in taken if meets(made, rule)), None)
    if first is None:
        return Finding(0.0, rule.weight, f"never made: {_said(rule)}")
    return Finding(1.0, rule.weight, f"made: {_said(rule)}", ((first.turn, 1.0),))


def _golden(view: View, taken: list[Made]) -> Iterator[Finding]:
    if view.golden_calls is None:
        raise GraderFault("the golden calls are not known")
    left = [(made.turn, _key(made.call.name, made.call.arguments)) for made in taken]
    for call in view.golden_calls:
        key = _key(call["name"], call["arguments"])
        place = next((place for place, (_, found) in enumerate(left) if found == key), None)
        if place is None:
            yield Finding(0.0, 1.0, f"never made: {key}")
        else:
            yield Finding(1.0, 1.0, f"made: {key}", ((left.pop(place)[0], 1.0),))


def _forbidden(rule: CallRule, made: tuple[Made, ...]) -> Finding:
    found = [one.turn for one in made if one.call.arguments is not None and meets(one, rule)]
    said = f"forbidden, made {_times(len(found))}: {_said(rule)}" if found else f"not made: {_said(rule)}"
    return Finding(float(not found), rule.weight, said, tuple((turn, 0.0) for turn in found))


def _ordered(rule: OrderRule, made: tuple[Made, ...], taken: list[bool]) -> Finding:
    """Share of the later calls that had their earlier one."""
    later = [place for place, one in enumerate(made) if one.call.arguments is not None and meets(one, rule.after)]
    early = {place for place in later if not _prepared(place, rule, made, taken)}
    turns = tuple((made[place].turn, float(place not in early)) for place in later)
    if not early:
        return Finding(1.0, rule.weight, f"in order: {_said(rule.before)}, then {_said(rule.after)}", turns)
    said = f"{_said(rule.after)} made {_times(len(early))} without {_said(rule.before)} before it"
    return Finding(1 - len(early) / len(later), rule.weight, said, turns)


def _prepared(place: int, rule: OrderRule, made: tuple[Made, ...], taken: list[bool]) -> bool:
    before = (one for one, was_taken in zip(made[:place], taken, strict=False) if was_taken and meets(one, rule.before))
    return any(all(same(_values(one, name), _values(made[place], name)) for name in rule.same) for one in before)


def _values(made: Made, argument: str) -> list[object]:
    return [found for _, found, _ in places(path_parts(argument), made.call.arguments)]


def _repeats(allowed: int, made: tuple[Made, ...]) -> Finding:
    """A call is needless when an earlier one was the same and got the same answer: nothing new was learnt."""
    seen: set[tuple[str, str]] = set()
    turns: list[int] = []
    for one in made:
        key = (_key(one.call.name, one.call.arguments or {"raw": one.call.raw_arguments}), one.answer or "")
        if one.answer is not None and key in seen:
            turns.append(one.turn)
        seen.add(key)
    needless = max(0, len(turns) - allowed)
    said = f"{_times(len(turns))} a call was repeated for the same answer, {allowed} allowed"
    return Finding(1 - needless / max(len(made), 1), 1.0, said, tuple((turn, 0.0) for turn in turns[allowed:]))


def _key(name: str, arguments: JsonObject | None) -> str:
    return f"{name} {dumps(arguments)}"


def _said(rule: CallRule) -> str:
    demands = {path: wanted.model_dump(mode="json", exclude_none=True) for path, wanted in rule.arguments.items()}
    return f"{rule.tool} {dumps(demands)}" if demands else rule.tool


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
