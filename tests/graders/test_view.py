"""Views: the same for a rollout and for a trace, and None for what is not known."""

from dataclasses import replace

from pipeline.graders.view import view_of_rollout, view_of_trace
from pipeline.records import Message, Rollout, StopReason, Task, ToolCall, Trace, TraceStatus, Turn

CALL = ToolCall("c1", "get_order", {"order_id": "O-1"}, '{"order_id":"O-1"}')
TASK = Task(
    "t", "orders", "refund", "train", 1, "Refund O-1.", {"a": 1}, {"a": 2}, ({"name": "x", "arguments": {}},), {}
)
TURNS = (
    Turn((1, 2, 3), (-1.0,) * 3, 0, Message("assistant", None, (CALL,)), (Message("tool", "paid", tool_call_id="c1"),)),
    Turn((4, 5), (-1.0,) * 2, 0, Message("assistant", "It is paid.")),
)
ROLLOUT = Rollout("t", "orders", "refund", 3, "sft", (9,), TURNS, (), StopReason.FINISHED)
MESSAGES = (
    Message("system", "Be kind."), Message("user", "Refund O-1."), Message("assistant", None, (CALL,)),
    Message("tool", "paid", tool_call_id="c1"), Message("assistant", "It is paid."),
)  # fmt: skip
TRACE = Trace(
    "r", "file", 1, "openai_chat", None, None, MESSAGES, (), "h", {}, None, TraceStatus.OK, None, {}
)  # fmt: skip


def test_a_rollout_and_a_trace_of_the_same_episode_look_alike() -> None:
    ours, theirs = view_of_rollout(ROLLOUT, TASK, final_state={"a": 2}), view_of_trace(TRACE)
    for name in ("question", "made", "turns", "answer", "stop_reason", "messages", "fault"):
        if name != "messages":
            assert getattr(ours, name) == getattr(theirs, name)
    assert [message.content for message in ours.messages] == [message.content for message in theirs.messages]
    assert (ours.tokens, ours.final_state, ours.golden_state) == (5, {"a": 2}, {"a": 2})
    assert (theirs.tokens, theirs.final_state, theirs.golden_calls) == (None, None, None)
    assert (ours.made[0].turn, ours.made[0].answer, theirs.procedure) == (0, "paid", "Be kind.")


def test_an_episode_that_ended_otherwise_has_no_answer() -> None:
    assert view_of_rollout(replace(ROLLOUT, stop_reason=StopReason.MAX_TOKENS), TASK).answer is None
    assert view_of_rollout(replace(ROLLOUT, turns=TURNS[:1], stop_reason=StopReason.MAX_TURNS), TASK).answer is None
    assert view_of_trace(replace(TRACE, status=TraceStatus.TRUNCATED)).answer is None
    assert view_of_trace(replace(TRACE, messages=())).answer is None


def test_what_broke_says_so() -> None:
    broken = view_of_rollout(replace(ROLLOUT, turns=(), stop_reason=StopReason.TIMEOUT), TASK)
    assert broken.fault == "the episode ended by timeout"
    assert view_of_rollout(ROLLOUT, TASK, fault="no state").fault == "no state"
    assert view_of_trace(replace(TRACE, status=TraceStatus.ERROR, error="502")).fault == "502"


def test_answers_without_ids_belong_to_calls_by_place() -> None:
    calls = tuple(ToolCall(name, name, {}, "{}") for name in ("a", "b", "c"))
    answers = (Message("tool", "for a"), Message("tool", "for b", tool_call_id="b"), Message("tool", "for c"))
    trace = replace(TRACE, messages=(Message("user", "go"), Message("assistant", None, calls), *answers))
    assert [made.answer for made in view_of_trace(trace).made] == ["for a", "for b", "for c"]


def test_a_call_without_an_answer_has_none() -> None:
    trace = replace(TRACE, messages=(Message("user", "go"), Message("assistant", None, (CALL,))))
    assert [made.answer for made in view_of_trace(trace).made] == [None]
