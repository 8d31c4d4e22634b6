"""A real OpenEnv server over a real socket: tools and actions, three sessions side by side, a whole stage."""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.environments.worlds import World, load_worlds
from pipeline.graders.reward import outcome
from pipeline.params import EnvironmentsParams, load_params
from pipeline.records import ROLLOUTS, TASKS, StopReason, Task
from pipeline.rollouts.episodes import play
from pipeline.rollouts.places import Places
from pipeline.rows import grades_from_json, task_to_row
from pipeline.stages.profile import body
from pipeline.synthesis.given import given_tasks
from pipeline.tables import read_parquet, write_parquet
from pipeline.tracking import Run
from pipeline.training.tiny import build_tiny, build_tokenizer
from tests.conftest import ROOT
from tests.rollouts.conftest import Scripted

pytestmark = pytest.mark.slow
PYTHON = ROOT / ".venv-openenv/bin/python"
SERVER = Path(__file__).parent / "openenv_server.py"
ENVIRONMENT = EnvironmentsParams.model_validate({"names": ["number"], "folder": "own"})


@pytest.fixture(scope="module", params=["tools", "actions"])
def game(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The style of a running server, and a folder in which `own/number.openenv.yaml` names it."""
    if not PYTHON.exists():
        pytest.skip(f"no {PYTHON.relative_to(ROOT)}: `make test-full` makes it")
    root = tmp_path_factory.mktemp(request.param)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (root / "log").open("w") as log:
        server = subprocess.Popen([PYTHON, SERVER, request.param, str(port)], stdout=log, stderr=log)
    try:
        _await(server, port, root / "log")
        (root / "own").mkdir()
        (root / "own/number.openenv.yaml").write_text(f"base_url: http://127.0.0.1:{port}\n")
        rows = [f'{{"question": "Which number is it?", "seed": {n}, "split": "train"}}\n' for n in range(3)]
        (root / "own/number.jsonl").write_text("".join(rows))
        yield request.param, root
    finally:
        server.kill()
        server.wait()


def _await(server: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"no server on port {port}: {log.read_text()}")


@pytest.fixture
def number(game: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> World:
    """The world of the server; the test works in its folder."""
    monkeypatch.chdir(game[1])
    return load_worlds(ENVIRONMENT)["number"]


def guess(style: str, number: int) -> str:
    """A call that says which number it is."""
    name = "submit" if style == "tools" else "act"
    return f'<tool_call>\n{{"name": "{name}", "arguments": {{"number": {number}}}}}\n</tool_call>'


def outcomes(number: World, say: Callable[[Task, int], str]) -> list[float | None]:
    """Outcome of each task when the agent says what `say` gives."""
    tasks = given_tasks(number, 1)["train"]
    places = Places.load(build_tokenizer([], 300), {"number": number})
    engine = Scripted(places.of(tasks[0]).harness, lambda row, turn: say(tasks[row], turn))
    params = load_params(ROOT / "params.yaml").rollouts.model_copy(
        update={"max_new_tokens": 200, "max_context": 8192, "tool_timeout": 60.0}
    )
    rollouts = play(engine, places, [(task, 0) for task in tasks], params, model="m", seed=1)
    assert {rollout.stop_reason for rollout in rollouts} == {StopReason.FINISHED}
    return [outcome(rollout.grades) for rollout in rollouts]


def test_who_finds_the_number_succeeds_and_who_does_not_earns_nothing(game: tuple[str, Path], number: World) -> None:
    style = game[0]
    right = outcomes(number, lambda task, turn: "Found." if turn else guess(style, task.initial_state["seed"] + 1))
    wrong = outcomes(number, lambda task, turn: "Found." if turn else guess(style, 20))
    silent = outcomes(number, lambda task, turn: "I do not know.")
    assert (right, wrong, silent) == ([1.0] * 3, [0.0] * 3, [0.0] * 3)


def test_a_refused_call_goes_back_to_the_agent(game: tuple[str, Path], number: World) -> None:
    style = game[0]
    wrong = guess(style, 99).replace("submit", "compare")

    def say(task: Task, turn: int) -> str:
        return (wrong, guess(style, task.initial_state["seed"] + 1), "Found.")[turn]

    assert outcomes(number, say) == [1.0] * 3


def test_a_stage_plays_it_with_a_model(game: tuple[str, Path], number: World) -> None:
    params = load_params(ROOT / "params.yaml")
    size = {"hidden_size": 16, "layers": 1, "heads": 2, "head_dim": 8, "intermediate_size": 16, "vocab_size": 400}
    limits = {"max_turns": 2, "max_new_tokens": 8, "max_context": 4096, "chunk": 3, "slots": 3, "tool_timeout": 60.0}
    params = params.model_copy(
        update={
            "environments": ENVIRONMENT, "rollouts": params.rollouts.model_copy(update=limits),
            "profile": params.profile.model_copy(update={"tries": 2, "tasks": 0}),
            "reward": params.reward.model_copy(update={"weights": {"outcome": 1.0}}),
        }
    )  # fmt: skip
    write_parquet(Path("data/tasks/train.parquet"), map(task_to_row, given_tasks(number, 1)["train"]), TASKS)
    build_tiny([], params.base.model_copy(update=size), 1, Path("models/sft"))
    body(params, Run())
    rows = list(read_parquet(Path("data/profile/rollouts.parquet"), ROLLOUTS))
    assert len(rows) == 6
    assert {outcome(grades_from_json(row["grades"])) for row in rows} == {0.0}
