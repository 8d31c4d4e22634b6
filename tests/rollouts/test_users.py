"""Conversations with a simulated user inside the episode loop: tokens, ends, and whose fault it was."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.environments.users import UserScript
from pipeline.environments.worlds import make_world
from pipeline.graders.view import view_of_rollout
from pipeline.params import RolloutParams
from pipeline.records import Message, Rollout, StopReason
from pipeline.remote.endpoint import Endpoint
from pipeline.rollouts.episodes import play
from pipeline.rollouts.harness import Harness
from pipeline.rollouts.places import Place, Places
from pipeline.rows import rollout_from_row, rollout_to_row
from tests.openai_server import ScriptedServer, say, say_json, scripted_server
from tests.rollouts.conftest import Counter, Scripted, task

SCRIPT = UserScript.model_validate({
    "intent": "You want the number counted up.",
    "knows": {"target": {"asked": ["how far"], "says": ["To {value}."]}},
    "unknown": ["I do not know."], "max_turns": 3,
})  # fmt: skip
ADD = '<tool_call>\n{"name": "add", "arguments": {"by": 3}}\n</tool_call>'


class Asked(Counter):
    """A counter that says how far to count only when asked."""

    script: UserScript = SCRIPT

    def reset(self, **task: Any) -> str | None:
        """Start, and bring the user along."""
        self.user = self.script.with_values({"target": str(task["initial_state"].get("target", ""))})
        return super().reset(**task)


def converse(
    harness: Harness, params: RolloutParams, say: Callable[[int, int], str], target: str = "three",
    world: type[Counter] = Asked,
) -> Rollout:  # fmt: skip
    """One rollout of an agent that says `say(row, turn)`."""
    place = Places({"counter": Place(make_world("counter", world), harness)})
    start = task()
    start.initial_state["target"] = target
    (rollout,) = play(Scripted(harness, say), place, [(start, 0)], params, model="m", seed=3)
    return rollout


def test_the_user_answers_until_it_is_done(harness: Harness, params: RolloutParams) -> None:
    texts = ["How far?", ADD, "Done, it is three."]
    rollout = converse(harness, params, lambda _, turn: texts[turn])
    assert rollout.stop_reason is StopReason.FINISHED
    assert rollout.grades[0].score == 1.0
    first, second, third = rollout.turns
    assert first.tool_results == (Message("user", "To three."),)
    assert second.tool_results[0].role == "tool"
    assert third.tool_results == ()
    spoken = [Message("system", "Count to three."), Message("user", task().question), first.message]
    spoken += [*first.tool_results, second.message, *second.tool_results, third.message]
    tokens = [*rollout.prompt_ids, *first.token_ids, *first.observation_ids, *second.token_ids]
    tokens += [*second.observation_ids, *third.token_ids]
    ids, mask = harness.encode(spoken)
    assert ids[: len(tokens)] == tokens
    assert sum(mask) == sum(len(turn.token_ids) for turn in rollout.turns)
    assert rollout_from_row(rollout_to_row(rollout)) == rollout
    seen = view_of_rollout(rollout, task())
    assert [message.role for message in seen.messages] == ["assistant", "user", "assistant", "tool", "assistant"]
    assert (seen.answer, seen.fault, len(seen.made)) == ("Done, it is three.", "", 1)


def test_without_a_user_the_first_answer_ends_the_episode(harness: Harness, params: RolloutParams) -> None:
    rollout = converse(harness, params, lambda _row, _turn: "How far?", world=Counter)
    assert (rollout.stop_reason, len(rollout.turns)) == (StopReason.FINISHED, 1)


def test_the_users_patience_and_the_turn_cap_end_a_conversation(harness: Harness, params: RolloutParams) -> None:
    for cap, turns in ((9, 3), (2, 2)):
        changed = params.model_copy(update={"max_turns": cap})
        rollout = converse(harness, changed, lambda _row, _turn: "How far?")
        assert (rollout.stop_reason, len(rollout.turns)) == (StopReason.MAX_TURNS, turns)
        assert rollout.grades[0].score == 0.0


def test_a_user_without_its_facts_is_no_fault_of_the_agent(harness: Harness, params: RolloutParams) -> None:
    rollout = converse(harness, params, lambda _row, _turn: "How far?", target="")
    assert (rollout.stop_reason, rollout.turns) == (StopReason.USER_ERROR, ())
    assert {grade.score for grade in rollout.grades} == {None}
    assert rollout.grades[0].reason == "simulated user: fact 'target' has no value in this task"
    assert view_of_rollout(rollout, task()).fault


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A server whose script each test sets, and a folder for what is remembered."""
    monkeypatch.chdir(tmp_path)
    with scripted_server() as running:
        yield running


def modelled(server: ScriptedServer, params: RolloutParams) -> RolloutParams:
    """Users played by the server."""
    user = Endpoint(base_url=server.base_url, model="user", backoff=0.0, retries=0, repairs=0)
    return params.model_copy(update={"user": user})


def test_a_model_plays_the_user_and_is_remembered(
    server: ScriptedServer, harness: Harness, params: RolloutParams
) -> None:
    texts = ["How far?", ADD, "Done."]
    server.script = [say_json(done=False, message="To three, please."), say_json(done=True, message="")]
    rollouts = [converse(harness, modelled(server, params), lambda _, turn: texts[turn]) for _ in range(2)]
    assert rollouts[0] == rollouts[1]
    assert rollouts[0].stop_reason is StopReason.FINISHED
    assert rollouts[0].turns[0].tool_results == (Message("user", "To three, please."),)
    assert len(server.requests) == 2


def test_a_model_that_fails_leaves_null_grades_and_the_turns_so_far(
    server: ScriptedServer, harness: Harness, params: RolloutParams
) -> None:
    server.script = [say_json(done=False, message="To three."), say("")]
    rollout = converse(harness, modelled(server, params), lambda _row, _turn: "How far?")
    assert (rollout.stop_reason, len(rollout.turns)) == (StopReason.USER_ERROR, 2)
    assert {grade.score for grade in rollout.grades} == {None}
    assert rollout.grades[0].reason == "simulated user: empty: the model answered with nothing"
