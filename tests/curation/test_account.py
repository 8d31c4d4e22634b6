"""What is said of all candidates together."""

from pipeline.curation.account import Judged, unknown_success
from pipeline.curation.candidates import DEMOS, TRACES


def judged(origin: str, outcome: float | None) -> Judged:
    return Judged({"origin": origin, "outcome": outcome}, (), 0, 0, None, None)


def test_a_score_that_no_trace_carries_is_told_although_demonstrations_are_left() -> None:
    candidates = [judged(TRACES, None), judged(TRACES, None), judged(DEMOS, 1.0)]
    said = unknown_success("corect", candidates, ["speed", "correct", "correct"])
    assert said == (
        "no trace carries the score 'corect' of curate.success; did you mean 'correct'?; seen: 'correct' 2, 'speed' 1"
    )
    assert unknown_success("x", candidates, []) == "no trace carries the score 'x' of curate.success; seen: none"


def test_nothing_is_said_where_some_trace_carries_it_or_there_are_none() -> None:
    assert unknown_success("x", [judged(TRACES, None), judged(TRACES, 0.0)], []) is None
    assert unknown_success("x", [judged(DEMOS, None)], []) is None
    assert unknown_success("reward", [judged(TRACES, None)], []) is None
