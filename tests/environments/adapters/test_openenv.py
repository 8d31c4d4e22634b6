"""Environments behind an OpenEnv server: whose fault is what, what is earned, and that no session is left open."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from pipeline.environments.tools import EnvironmentFault, ToolAnswer, call_tool
from pipeline.environments.worlds import World, load_worlds
from pipeline.errors import InputError, ParamsError
from pipeline.graders.reward import outcome
from pipeline.params import EnvironmentsParams, load_params
from pipeline.records import Rollout, StopReason, Task, ToolCall
from pipeline.rollouts.episodes import play
from pipeline.rollouts.places import Places
from pipeline.synthesis.given import given_tasks
from pipeline.training.tiny import build_tokenizer
from tests.conftest import ROOT
from tests.environments.adapters.scripted_server import Answer, Served, error, seen, serving
from tests.rollouts.conftest import Scripted

AT = {"type": "object", "properties": {"at": {"type": "string"}}}
TOOLS = [{"name": "look", "description": "Look.", "input_schema": AT}]
ACTION = {
    "type": "object", "description": "One guess.", "required": ["number"],
    "properties": {"metadata": {"type": "object"}, "number": {"type": "integer", "maximum": 20}},
}  # fmt: skip


def desk(step: Callable[[dict[str, Any]], Answer]) -> Callable[[dict[str, Any]], Answer]:
    """A server with the tool `look`, whose calls `step` answers."""

    def answer(asked: dict[str, Any]) -> Answer:
        if asked["type"] == "reset":
            return seen(metadata={"seed": asked["data"].get("seed")})
        return seen(tools=TOOLS) if asked["data"].get("type") == "list_tools" else step(asked["data"])

    return answer


def world(folder: Path, served: Served, more: str = "") -> World:
    """The world named `game`, whose file says where the server is."""
    (folder / "game.openenv.yaml").write_text(f"base_url: {served.url}\n{more}")
    return load_worlds(EnvironmentsParams.model_validate({"names": ["game"], "folder": str(folder)}))["game"]


def call(environment: Any, name: str, **arguments: Any) -> ToolAnswer:
    """One call with a time limit."""
    return call_tool(environment, ToolCall("0", name, arguments, ""), timeout=10.0)


def started(one: World) -> Any:
    """An environment behind its reset."""
    environment = one.factory()
    environment.reset(initial_state={"seed": 3}, question="q", golden_state={}, golden_calls=[])
    return environment


def all_ended(served: Served) -> bool:
    """Whether no session is open, after a moment for the server to notice."""
    deadline = time.monotonic() + 10
    while served.sessions and time.monotonic() < deadline:
        time.sleep(0.01)
    return not served.sessions


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """Bytes and the special tokens of Qwen3, no merges."""
    return build_tokenizer([], 300)


def rollout(tokenizer: PreTrainedTokenizerFast, one: World, *said: str) -> Rollout:
    """One try in which the agent says this."""
    params = load_params(ROOT / "params.yaml").rollouts.model_copy(update={"max_new_tokens": 200, "max_context": 4096})
    task = Task("t", "game", "game", "train", 0, "Look around.", {"seed": 3}, {}, (), {})
    places = Places.load(tokenizer, {"game": one})
    engine = Scripted(places.of(task).harness, lambda row, turn: said[turn])
    return play(engine, places, [(task, 0)], params, model="m", seed=1)[0]


LOOK = '<tool_call>\n{"name": "look", "arguments": {"at": "door"}}\n</tool_call>'


def test_an_episode_is_played_and_its_session_ends(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    with serving(desk(lambda action: seen(reward=0.5, tool_name="look", result={"data": "a door"}))) as served:
        one = world(tmp_path, served, "procedure: Look at all doors.\n")
        made = rollout(tokenizer, one, LOOK, LOOK, "All seen.")
        assert made.stop_reason == StopReason.FINISHED
        assert [turn.tool_results[0].content for turn in made.turns[:2]] == ["a door", "a door"]
        assert [(grade.name, grade.score) for grade in made.grades] == [("outcome", 1.0)]
        assert {"type": "reset", "data": {"seed": 3}} in served.asked
        assert one.procedure == "Look at all doors."
        assert all_ended(served)


@pytest.mark.parametrize(
    ("answer", "stop", "reason"),
    [
        (error("EXECUTION_ERROR", "disk full"), StopReason.ENVIRONMENT_ERROR, "step: EXECUTION_ERROR: disk full"),
        (None, StopReason.ENVIRONMENT_ERROR, "step: Connection"),
        (b"not json", StopReason.ENVIRONMENT_ERROR, "is no JSON"),
        ({"type": "observation"}, StopReason.ENVIRONMENT_ERROR, "has no data"),
        ({"type": "observation", "data": {}}, StopReason.ENVIRONMENT_ERROR, "has no observation"),
        (seen(tool_name="look", error={"error_type": "transport_error", "message": "gone"}),
         StopReason.ENVIRONMENT_ERROR, "look: gone"),
        (seen(tool_name="look", error={"error_type": "timeout", "message": "slow"}), StopReason.TIMEOUT, "look: slow"),
    ],
)  # fmt: skip
def test_the_servers_faults_are_null(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path, answer: Answer, stop: StopReason, reason: str
) -> None:
    with serving(desk(lambda action: answer)) as served:
        made = rollout(tokenizer, world(tmp_path, served), LOOK)
    assert made.stop_reason == stop
    assert outcome(made.grades) is None
    assert reason in made.grades[0].reason


def test_a_server_that_does_not_answer_is_a_timeout(tmp_path: Path) -> None:
    def slow(action: dict[str, Any]) -> Answer:
        time.sleep(1.0)
        return seen()

    with serving(desk(slow)) as served:
        environment = started(world(tmp_path, served, "timeout: 0.2\n"))
        with pytest.raises(EnvironmentFault, match=r"step: no answer within 0\.2 s") as fault:
            call(environment, "look")
        assert fault.value.timed_out


def test_what_the_agent_does_wrong_is_told_to_it(tmp_path: Path) -> None:
    refusal = {"error_type": "execution_error", "message": "no"}
    with serving(desk(lambda action: seen(tool_name="look", error=refusal))) as served:
        environment = started(world(tmp_path, served))
        assert call(environment, "look") == ToolAnswer("error: no", error=True)
        assert call(environment, "jump").content == "error: no such tool: jump"
        assert outcome(environment.grade()) == 0.0


def test_a_server_without_tools_has_the_fields_of_its_action(tmp_path: Path) -> None:
    def answer(asked: dict[str, Any]) -> Answer:
        if asked["type"] == "reset":
            return seen(text="Find a number.", reward=0.25)
        if "number" not in asked["data"]:
            return error("VALIDATION_ERROR", "Invalid message", errors=[{"loc": ["number"], "msg": "Field required"}])
        right = asked["data"]["number"] == 7
        return seen(text="right", reward=0.75, done=True, guesses=[1]) if right else seen(n=1, m=2)

    with serving(answer, ACTION) as served:
        one = world(tmp_path, served)
        assert [tool["function"]["name"] for tool in one.tools] == ["act"]
        assert list(one.tools[0]["function"]["parameters"]["properties"]) == ["number"]
        environment = one.factory()
        assert environment.reset(initial_state={}) == "\n\nFind a number."
        assert call(environment, "act", number=3).content == '{"n":1,"m":2}'
        assert call(environment, "act", number=7).content.endswith("\nThe episode is over.")
        assert call(environment, "act", number=7) == ToolAnswer("error: the episode is over", error=True)
        assert outcome(environment.grade()) == 1.0
        environment._release()


def test_an_action_that_the_server_refuses_is_the_agents(tmp_path: Path) -> None:
    refusal = error("VALIDATION_ERROR", "Invalid message", errors=[{"loc": ["at"], "msg": "too long"}])
    with serving(desk(lambda action: refusal)) as served:
        environment = started(world(tmp_path, served))
        assert call(environment, "look", at="x") == ToolAnswer("error: at: too long", error=True)


def test_an_end_without_a_reward_is_no_grade_and_no_end_is_nothing_earned(tmp_path: Path) -> None:
    with serving(desk(lambda action: seen(done=True, tool_name="look", result="x"))) as served:
        environment = started(world(tmp_path, served))
        assert outcome(environment.grade()) == 0.0
        call(environment, "look")
        [grade] = environment.grade()
        assert (grade.score, grade.reason) == (None, "the server ended the episode without a reward")


def test_a_full_server_is_named_where_tasks_are_proved(tmp_path: Path) -> None:
    def full(asked: dict[str, Any]) -> Answer:
        return seen(tools=TOOLS) if asked["type"] == "step" else error("CAPACITY_REACHED", "1/1 sessions active")

    (tmp_path / "game.jsonl").write_text('{"question": "Look around.", "seed": 3}\n')
    with serving(full) as served:
        one = world(tmp_path, served)
        with pytest.raises(InputError, match=r"game\.jsonl:1: .*CAPACITY_REACHED: 1/1 sessions active"):
            given_tasks(one, 1)


def test_golden_calls_are_proved_and_leave_no_session(tmp_path: Path) -> None:
    row = '{"question": "Look.", "seed": 3, "golden_calls": [{"name": "look", "arguments": {"at": "door"}}]}\n'
    (tmp_path / "game.jsonl").write_text(row)
    with serving(desk(lambda action: seen(reward=1.0, done=True, tool_name="look", result="x"))) as served:
        [task] = [task for tasks in given_tasks(world(tmp_path, served), 1).values() for task in tasks]
        assert (task.initial_state, task.environment) == ({"seed": 3}, "game")
        assert all_ended(served)


def test_a_token_goes_along_and_must_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(desk(lambda action: seen())) as served:
        monkeypatch.delenv("GAME_TOKEN", raising=False)
        with pytest.raises(InputError, match="the environment variable GAME_TOKEN is not set"):
            world(tmp_path, served, "key_env: GAME_TOKEN\n")
        monkeypatch.setenv("GAME_TOKEN", "secret")
        world(tmp_path, served, "key_env: GAME_TOKEN\n")
        assert set(served.tokens) == {"Bearer secret"}


def test_no_server_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"game\.openenv\.yaml: http://127\.0\.0\.1:9: no OpenEnv server answers"):
        world(tmp_path, Served(url="http://127.0.0.1:9"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("base_url: ftp://x\n", "base_url: Value error, must be an address"),
        ("url: http://127.0.0.1:1\n", "url: Extra inputs are not permitted"),
        ("- a\n", "document: Input should be a valid dictionary"),
        ("a: [\n", "not valid YAML"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "game.openenv.yaml").write_text(text)
    with pytest.raises(InputError, match=rf"game\.openenv\.yaml: .*{message}"):
        load_worlds(EnvironmentsParams.model_validate({"names": ["game"], "folder": str(tmp_path)}))


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([{"description": "x"}], "lists a tool without a name"),
        ([TOOLS[0], TOOLS[0]], "two tools are called 'look'"),
        ([{"name": "x", "input_schema": {"type": "string"}}], "the parameters of tool 'x' are no object"),
        ([{"name": "x", "input_schema": {"type": 3}}], "the parameters of tool 'x' are no JSON schema"),
    ],
)
def test_tools_that_are_none_are_refused(tmp_path: Path, tools: list[Any], message: str) -> None:
    with serving(lambda asked: seen(tools=tools)) as served, pytest.raises(InputError, match=message):
        world(tmp_path, served)


def test_the_hint_knows_the_files_of_others(tmp_path: Path) -> None:
    (tmp_path / "game.openenv.yaml").write_text("base_url: http://127.0.0.1:9\n")
    with pytest.raises(ParamsError, match="did you mean 'game'"):
        load_worlds(EnvironmentsParams.model_validate({"names": ["gme"], "folder": str(tmp_path)}))
