"""The suite outside through the same loop as all else: what is said or called in it is what is graded."""

from collections.abc import Callable

import orjson
import pytest
from transformers import PreTrainedTokenizerFast

from pipeline.environments.outside import outside_worlds
from pipeline.graders.reward import outcome
from pipeline.params import RolloutParams
from pipeline.records import StopReason, Task
from pipeline.rollouts.episodes import play
from pipeline.rollouts.places import Places
from pipeline.synthesis.outside import outside_tasks
from tests.rollouts.conftest import Scripted

SUITE = outside_worlds()
TASKS = list(outside_tasks(SUITE, 1, 12))


@pytest.fixture(scope="module")
def outside(tokenizer: PreTrainedTokenizerFast) -> Places:
    """The suite's worlds on the tiny tokenizer."""
    return Places.load(tokenizer, SUITE)


def perfect(task: Task, turn: int) -> str:
    """What a flawless model says."""
    if task.golden_calls and turn == 0:
        return f"<tool_call>\n{orjson.dumps(task.golden_calls[0]).decode()}\n</tool_call>"
    return str(task.golden_state.get("text", task.golden_state.get("number", "It is done.")))


def outcomes(outside: Places, params: RolloutParams, say: Callable[[Task, int], str]) -> list[float | None]:
    """Outcome of each task when the model says what `say` gives."""
    engine = Scripted(outside.of(TASKS[0]).harness, lambda row, turn: say(TASKS[row], turn))
    rollouts = play(engine, outside, [(task, 0) for task in TASKS], params, model="m", seed=3, max_turns=2)
    assert {rollout.stop_reason for rollout in rollouts} == {StopReason.FINISHED}
    return [outcome(rollout.grades) for rollout in rollouts]


def test_right_answers_and_calls_succeed(outside: Places, params: RolloutParams) -> None:
    assert outcomes(outside, params, perfect) == [1.0] * len(TASKS)


def test_talk_instead_of_the_answer_or_the_call_fails(outside: Places, params: RolloutParams) -> None:
    assert outcomes(outside, params, lambda task, turn: "The claim is settled.") == [0.0] * len(TASKS)


def test_every_byte_of_a_task_reaches_the_model(outside: Places) -> None:
    for task in TASKS:
        harness = outside.of(task).harness
        assert task.question in str(harness.tokenizer.decode(harness.prompt_ids(task.question)))
