"""A real taskset of `verifiers`: its tools and rewards in our episodes, a tool server on a socket, whose fault."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from pipeline.env_commands.tasksets import write_tasks
from pipeline.environments.adapters.verifiers import taskset_rows
from pipeline.environments.tools import EnvironmentFault, call_tool
from pipeline.environments.worlds import World, load_worlds
from pipeline.errors import InputError
from pipeline.graders.reward import outcome
from pipeline.params import EnvironmentsParams, load_params
from pipeline.records import JsonObject, Rollout, StopReason, Task, ToolCall
from pipeline.rollouts.episodes import play
from pipeline.rollouts.places import Places
from pipeline.synthesis.given import given_tasks
from pipeline.tables import dumps
from pipeline.training.tiny import build_tokenizer
from tests.conftest import ROOT
from tests.rollouts.conftest import Scripted

pytest.importorskip("verifiers", reason="the extra `verifiers` is not installed")
pytestmark = pytest.mark.slow
HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The taskset can be imported, as if its package were installed; nothing is written into the user's home."""
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setattr("verifiers.v1.runtimes.subprocess.CACHE_DIR", tmp_path / "cache")


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """Bytes and the special tokens of Qwen3, no merges."""
    return build_tokenizer([], 300)


def world(folder: Path, **config: Any) -> World:
    """The world `riddles`, its tasks written out beside its file."""
    file = folder / "riddles.verifiers.yaml"
    file.write_text(dumps({"taskset": "rehearsal-riddles", "config": config, "timeout": 30}))
    write_tasks(str(file))
    return load_worlds(EnvironmentsParams.model_validate({"names": ["riddles"], "folder": str(folder)}))["riddles"]


def tasks(one: World) -> list[Task]:
    """All tasks of the world, proved, in the order of the file."""
    made = [task for split in given_tasks(one, 1).values() for task in split]
    return sorted(made, key=lambda task: int(task.knobs["line"]))


def started(one: World, task: Task) -> Any:
    """An environment behind its reset."""
    environment = one.factory()
    environment.reset(initial_state=task.initial_state, question=task.question, golden_state={}, golden_calls=[])
    return environment


def call(environment: Any, name: str, timeout: float = 30.0, **arguments: Any) -> tuple[str, bool]:
    """One call with a time limit: what it is answered, and whether that is an error."""
    answer = call_tool(environment, ToolCall("0", name, arguments, ""), timeout)
    return answer.content, answer.error


def rollouts(tokenizer: PreTrainedTokenizerFast, one: World, *said: str) -> list[Rollout]:
    """A try of each task, side by side; `{n}` in what the agent says is the task's number."""
    made = tasks(one)
    places = Places.load(tokenizer, {"riddles": one})
    engine = Scripted(places.of(made[0]).harness, lambda row, turn: said[turn].replace("{n}", str(row)))
    limits = {"max_new_tokens": 200, "max_context": 8192, "tool_timeout": 30.0}
    params = load_params(ROOT / "params.yaml").rollouts.model_copy(update=limits)
    return play(engine, places, [(task, 0) for task in made], params, model="m", seed=1)


READ = '<tool_call>\n{"name": "book_page", "arguments": {"number": {n}}}\n</tool_call>'


def test_tasks_and_tools_are_the_tasksets(tmp_path: Path) -> None:
    one = world(tmp_path, riddles=2)
    asked = "Answer with one word.\n\nWhich word stands in book"
    assert [task.question for task in tasks(one)] == [f"{asked} 0?", f"{asked} 1?"]
    functions: list[JsonObject] = [tool["function"] for tool in one.tools]
    assert [function["name"] for function in functions] == ["book_page", "book_sleep", "define"]
    assert functions[0]["description"] == "Read a page."
    assert functions[0]["parameters"]["properties"]["number"]["type"] == "integer"


def test_tasks_once_written_are_the_users(tmp_path: Path) -> None:
    world(tmp_path, riddles=2)
    assert (tmp_path / "riddles.jsonl").read_text().count("\n") == 2
    with pytest.raises(InputError, match=r"riddles\.jsonl: exists already; remove it"):
        write_tasks(str(tmp_path / "riddles.verifiers.yaml"))


def test_who_looks_and_answers_earns_all_rewards(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    one = world(tmp_path)
    right = rollouts(tokenizer, one, READ, "w{n}")
    assert [turn.tool_results[0].content for turn in right[1].turns[:1]] == ["the word is w1"]
    assert [outcome(rollout.grades) for rollout in right] == [1.0] * 3
    assert right[0].grades[0].reason == "looked 1 x 0.25, right 1 x 0.75"
    assert [outcome(rollout.grades) for rollout in rollouts(tokenizer, one, "w{n}")] == [0.75] * 3
    assert [outcome(rollout.grades) for rollout in rollouts(tokenizer, one, READ, READ, "no idea")] == [0.25] * 3
    assert list((tmp_path / "cache").rglob("*"))[2:] == [], "every rollout gave its working folder back"


def test_what_a_tool_raises_is_told_and_bad_arguments_too(tmp_path: Path) -> None:
    one = world(tmp_path, riddles=1)
    environment = started(one, tasks(one)[0])
    said, error = call(environment, "book_page", number=7)
    assert error
    assert said.endswith("there is no page 7")
    assert call(environment, "book_page", number="seven")[0].startswith("error: bad arguments")
    assert call(environment, "define", word="w0") == ("w0: a word of 2 letters", False)
    assert call(environment, "shout")[0] == "error: no such tool: shout"
    assert outcome(environment.grade()) == 0.0
    environment._release()


def test_a_tool_that_does_not_answer_is_a_timeout(tmp_path: Path) -> None:
    one = world(tmp_path, riddles=1)
    environment = started(one, tasks(one)[0])
    with pytest.raises(EnvironmentFault, match=r"book_sleep: no answer within 0\.2 s") as fault:
        call(environment, "book_sleep", timeout=0.2, seconds=5.0)
    assert fault.value.timed_out
    environment._release()


def test_a_reward_that_cannot_be_had_is_null(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    [made] = rollouts(tokenizer, world(tmp_path, riddles=1, task={"break_scoring": True}), READ, "w{n}")
    assert made.stop_reason == StopReason.ENVIRONMENT_ERROR
    assert made.grades[0].score is None
    assert "the scorer lost its glasses" in made.grades[0].reason


def test_a_task_that_cannot_be_set_up_is_named_by_line(tmp_path: Path) -> None:
    one = world(tmp_path, riddles=1)
    row = json.loads((tmp_path / "riddles.jsonl").read_text())
    row["initial_state"]["pages"] = []
    (tmp_path / "riddles.jsonl").write_text(dumps(row))
    with pytest.raises(InputError, match=r"riddles\.jsonl:1: reset refuses it: .*the book has no pages"):
        given_tasks(one, 1)


@pytest.fixture
def dictionary(tmp_path: Path) -> Iterator[str]:
    """The dictionary's own server: a process that listens on 127.0.0.1."""
    port_file = tmp_path / "port"
    config = {"VF_CONFIG": "{}", "MCP_PORT_FILE": str(port_file), "VF_STATE_URL": "", "VF_STATE_SECRET": ""}
    server = subprocess.Popen([sys.executable, HERE / "rehearsal_riddles.py"], env={**os.environ, **config})
    try:
        deadline = time.monotonic() + 120
        while not (port_file.exists() and port_file.read_text()) and time.monotonic() < deadline:
            assert server.poll() is None
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port_file.read_text()}/mcp"
    finally:
        server.kill()
        server.wait()


def test_a_toolset_may_be_served_elsewhere(dictionary: str, tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    one = world(tmp_path, riddles=2, task={"dictionary": {"url": dictionary}})
    asked = '<tool_call>\n{"name": "define", "arguments": {"word": "riddle"}}\n</tool_call>'
    first, second = rollouts(tokenizer, one, asked, asked.replace("riddle", "w{n}"), "w{n}")
    assert (first.turns[0].tool_results[0].content or "").endswith("that would be telling")
    assert second.turns[1].tool_results[0].content == "w1: a word of 2 letters"
    assert (outcome(first.grades), outcome(second.grades)) == (0.75, 0.75)


def test_a_tool_server_that_is_gone_is_no_fault_of_the_agent(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"riddles\.verifiers\.yaml: no tools at http://127\.0\.0\.1:9/mcp .*is it running\?"
    ):
        world(tmp_path, riddles=1, task={"dictionary": {"url": "http://127.0.0.1:9/mcp"}})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"taskset": "no-such-riddles"}, "taskset 'no-such-riddles': .*not found"),
        ({"taskset": "rehearsal-riddles", "config": {"ridles": 3}}, "taskset 'rehearsal-riddles': config.ridles: "),
        ({"taskset": "rehearsal-riddles", "config": {"user_first": True}}, "task 0 has no prompt"),
        ({"taskset": "json"}, "taskset 'json': "),
        ({"taskset": "a b"}, "taskset: String should match pattern"),
    ],
)
def test_a_taskset_that_cannot_be_had_is_named(tmp_path: Path, values: JsonObject, message: str) -> None:
    file = tmp_path / "riddles.verifiers.yaml"
    file.write_text(dumps(values))
    with pytest.raises(InputError, match=rf"riddles\.verifiers\.yaml: {message}"):
        list(taskset_rows(file))
