"""Episodes from question to grades, and every way in which one can end."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.environments import Environment
from pipeline.errors import InputError
from pipeline.params import RolloutParams
from pipeline.records import Grade, Message, Rollout, StopReason
from pipeline.rollouts.episodes import play
from pipeline.rollouts.harness import Harness
from pipeline.rollouts.places import Places
from pipeline.rollouts.transformers_engine import TransformersEngine
from pipeline.rows import rollout_from_row, rollout_to_row
from tests.rollouts.conftest import Counter, Scripted, place, qwen3, task

Say = Callable[[int, int], str]


def add(by: int) -> str:
    """The agent's text for one call of `add`."""
    return f'<tool_call>\n{{"name": "add", "arguments": {{"by": {by}}}}}\n</tool_call>'


def one(
    harness: Harness, params: RolloutParams, say: Say, factory: type[Environment] = Counter, **changes: Any
) -> Rollout:
    """One rollout of an agent that says `say(row, turn)`."""
    (rollout,) = play(
        Scripted(harness, say), place(harness, factory), [(task(), 0)], params.model_copy(update=changes), model="m",
        seed=3,
    )  # fmt: skip
    return rollout


def test_finished_episode_is_graded_and_holds_exact_tokens(harness: Harness, params: RolloutParams) -> None:
    texts = [add(1) + "\n" + add(2), "Three."]
    rollout = one(harness, params, lambda _, turn: texts[turn])
    assert rollout.stop_reason is StopReason.FINISHED
    assert rollout.grades[0] == Grade("outcome", "outcome", 1.0, True)
    first, second = rollout.turns
    assert [message.content for message in first.tool_results] == ["1", "3"]
    assert [message.tool_call_id for message in first.tool_results] == ["call_0_0", "call_0_1"]
    assert first.state_hash == second.state_hash != ""
    spoken = [Message("system", "Count to three."), Message("user", task().question)]
    spoken += [first.message, *first.tool_results, second.message]
    tokens = [*rollout.prompt_ids, *first.token_ids, *first.observation_ids, *second.token_ids]
    assert harness.encode(spoken)[0][: len(tokens)] == tokens
    assert second.observation_ids == ()
    assert rollout_from_row(rollout_to_row(rollout)) == rollout


def test_turn_cap_runs_the_last_turns_calls(harness: Harness, params: RolloutParams) -> None:
    rollout = one(harness, params, lambda _row, _turn: add(1), max_turns=3)
    assert (rollout.stop_reason, len(rollout.turns)) == (StopReason.MAX_TURNS, 3)
    assert rollout.grades[0].score == 1.0


def test_cut_turn_runs_no_call(harness: Harness, params: RolloutParams) -> None:
    rollout = one(harness, params, lambda _row, _turn: add(3) + "x" * 500)
    assert (rollout.stop_reason, len(rollout.turns)) == (StopReason.MAX_TOKENS, 1)
    assert rollout.grades[0].score == 0.0
    assert len(rollout.turns[0].token_ids) == params.max_new_tokens


def test_context_overflow_has_its_own_reason(harness: Harness, params: RolloutParams) -> None:
    prompt = len(harness.prompt_ids(task().question))
    turn = len(harness.tokenizer.encode(add(1), add_special_tokens=False)) + 1
    for room in (0, turn - 5, turn + 1, turn + 5):
        rollout = one(harness, params, lambda _row, _turn: add(1), max_context=prompt + room)
        assert rollout.stop_reason is StopReason.CONTEXT_OVERFLOW
        assert len(rollout.turns) == (room > 0)
        assert all(grade.score is not None for grade in rollout.grades)
        assert sum(len(t.token_ids) + len(t.observation_ids) for t in rollout.turns) <= room


def test_unreadable_calls_go_back_to_the_agent_until_there_are_too_many(
    harness: Harness, params: RolloutParams
) -> None:
    broken = "<tool_call>\n{add 1}\n</tool_call>"
    texts = [broken, add(3), broken, broken]
    rollout = one(harness, params, lambda _, turn: texts[turn])
    assert (rollout.stop_reason, len(rollout.turns)) == (StopReason.MALFORMED_CALLS, 4)
    (answer,) = rollout.turns[0].tool_results
    assert str(answer.content).startswith("error: unreadable arguments: not valid JSON")
    (call,) = rollout.turns[0].message.tool_calls
    assert (call.arguments, call.raw_arguments) == (None, "{add 1}")
    assert rollout.grades[0].score == 1.0


def test_refused_calls_are_the_agents_own_and_go_on(harness: Harness, params: RolloutParams) -> None:
    texts = [add(-1), '<tool_call>{"name": "fly", "arguments": {}}</tool_call>', "Sorry."]
    rollout = one(harness, params, lambda _, turn: texts[turn])
    answers = [str(turn.tool_results[0].content) for turn in rollout.turns[:2]]
    assert answers == ["error: by must not be negative", "error: no such tool: fly"]
    assert rollout.stop_reason is StopReason.FINISHED


def test_broken_environment_leaves_null_grades(harness: Harness, params: RolloutParams) -> None:
    boom = '<tool_call>{"name": "explode", "arguments": {"why": "disk full"}}</tool_call>'
    rollout = one(harness, params, lambda _, turn: [add(3), boom][turn])
    assert (rollout.stop_reason, len(rollout.turns)) == (StopReason.ENVIRONMENT_ERROR, 2)
    assert [(grade.name, grade.score, grade.passed) for grade in rollout.grades] == [
        ("outcome", None, None), ("procedure", None, None), ("economy", None, None),
    ]  # fmt: skip
    assert "disk full" in rollout.grades[0].reason


def test_tool_that_hangs_is_a_timeout(harness: Harness, params: RolloutParams) -> None:
    class Slow(Counter):
        """Adds too slowly."""

        instant = False

        def add(self, by: int) -> str:
            """Count up.

            Args:
                by: How much to add.

            Returns:
                The new number.
            """
            time.sleep(0.5)
            return super().add(by)

    rollout = one(harness, params, lambda _row, _turn: add(1), Slow, tool_timeout=0.01)
    assert rollout.stop_reason is StopReason.TIMEOUT
    assert {grade.score for grade in rollout.grades} == {None}


def test_environment_that_cannot_start_or_grade_gives_nulls(harness: Harness, params: RolloutParams) -> None:
    class Unready(Counter):
        """Never starts."""

        def reset(self, **task: Any) -> str | None:
            """Fail."""
            raise ConnectionError("down")

    class Ungraded(Counter):
        """Cannot say how it went."""

        def _grade(self) -> tuple[Grade, ...]:
            raise KeyError("golden")

    for broken, turns in ((Unready, 0), (Ungraded, 1)):
        rollout = one(harness, params, lambda _row, _turn: "Done.", broken)
        assert (rollout.stop_reason, len(rollout.turns)) == (StopReason.ENVIRONMENT_ERROR, turns)
        assert {grade.score for grade in rollout.grades} == {None}


def test_rollouts_keep_their_order_and_their_own_environments(harness: Harness, params: RolloutParams) -> None:
    tries = [(task("a", 0), 0), (task("a", 0), 1), (task("b", 2), 0)]
    said = [["Zero."], [add(1), "One."], [add(1), "Three."]]
    rollouts = play(
        Scripted(harness, lambda row, turn: said[row][turn]), place(harness, Counter), tries, params, model="m", seed=3,
        policy_version=7, max_turns=2, temperature=0.5,
    )  # fmt: skip
    assert [(r.task_id, r.try_index, r.grades[0].score) for r in rollouts] == [
        ("a", 0, 0.0),
        ("a", 1, 0.0),
        ("b", 0, 1),
    ]
    assert rollouts[1].turns[0].policy_version == 7
    assert (rollouts[0].sampling["temperature"], rollouts[0].sampling["max_turns"]) == (0.5, 2)


def test_unknown_environment_is_named(harness: Harness, params: RolloutParams) -> None:
    elsewhere = Places({"other": place(harness, Counter).by_name["counter"]})
    with pytest.raises(InputError, match=r"no environment 'counter', only other; add it to environments\.names"):
        play(Scripted(harness, lambda _row, _turn: ""), elsewhere, [(task(), 0)], params, model="m", seed=3)


def test_model_that_babbles_never_breaks_the_loop(harness: Harness, params: RolloutParams) -> None:
    model = qwen3(vocabulary=len(harness.tokenizer))
    engine = TransformersEngine(model, harness.eos_id, harness.pad_id, 3)
    small = params.model_copy(update={"max_new_tokens": 12})
    rollouts = play(engine, place(harness, Counter), [(task(), n) for n in range(6)], small, model="m", seed=1)
    assert {rollout.stop_reason for rollout in rollouts} <= {StopReason.MAX_TOKENS, StopReason.FINISHED}
    assert len({rollout.turns[0].token_ids for rollout in rollouts}) == 6
