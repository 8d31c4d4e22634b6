"""Tasks that the user gives: read, proved, divided, and refused by file and line."""

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.environments.worlds import World, load_worlds
from pipeline.errors import InputError
from pipeline.params import EnvironmentsParams
from pipeline.synthesis.demos import demonstrate
from pipeline.synthesis.given import given_demo, given_tasks
from tests.environments.foreign import QUIZ

LOOK_UP = {"name": "look_up", "arguments": {"country": "Peru"}}
HAND_IN = {"name": "hand_in", "arguments": {"capital": "Lima"}}
ROW = {"question": "What is the capital of Peru?", "country": "Peru"}


@pytest.fixture
def quiz(tmp_path: Path) -> World:
    """A world of the user's, its file of tasks still to be written."""
    (tmp_path / "quiz.py").write_text(QUIZ)
    return load_worlds(EnvironmentsParams(names=("quiz",), folder=str(tmp_path)))["quiz"]


def write(world: World, *rows: Any) -> None:
    assert world.tasks is not None
    lines = (row if isinstance(row, bytes) else orjson.dumps(row) for row in rows)
    world.tasks.write_bytes(b"\n".join(lines) + b"\n")


def test_a_row_becomes_a_task_and_golden_calls_a_demonstration(quiz: World) -> None:
    write(quiz, ROW | {"split": "train", "template": "capitals", "golden_calls": [LOOK_UP, HAND_IN]}, b"", ROW)
    tasks = given_tasks(quiz, seed=1)
    task = tasks["train"][0]
    assert (task.environment, task.template, task.question) == ("quiz", "capitals", ROW["question"])
    assert (task.initial_state, task.golden_calls, task.knobs) == ({"country": "Peru"}, (LOOK_UP, HAND_IN), {"line": 1})
    (demo,) = demonstrate({"quiz": quiz}, [task])
    assert (demo.outcome, demo.process, demo.author) == (1.0, None, "golden")
    assert [message.content for message in demo.messages] == [
        "What is the capital of Peru? Hint: it starts with L.", None, "Lima", None, "thank you", "Done.",
    ]  # fmt: skip
    plain = next(task for some in tasks.values() for task in some if task.knobs["line"] == 3)
    assert plain.template == "quiz"
    assert given_demo(quiz, plain) is None


def test_without_a_split_the_content_decides_and_nothing_else(quiz: World) -> None:
    rows = [ROW | {"bonus": number / 1000} for number in range(400)]
    write(quiz, *rows)
    tasks = given_tasks(quiz, seed=1)
    counts = Counter({split: len(some) for split, some in tasks.items()})
    assert 280 < counts["train"] < 330
    assert 30 < counts["valid"] < 70
    write(quiz, *reversed(rows))
    again = given_tasks(quiz, seed=2)
    for split, some in tasks.items():
        assert {task.task_id for task in again[split]} == {task.task_id for task in some}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"{", r"quiz\.jsonl:2: not valid JSON"),
        ([1], "2: a JSON object is needed, found list"),
        ({"country": "Peru"}, "2: question is missing or empty"),
        (ROW | {"question": 3}, "2: question must be text, found 3"),
        (ROW | {"split": "test"}, "2: split is 'test'; say train, valid, eval"),
        (ROW | {"golden_calls": ["look_up"]}, "2: golden_calls: a call is"),
        (ROW | {"golden_calls": [{"name": "fly"}]}, "2: golden_calls: fly {} is answered: error: no such tool: fly"),
        (ROW | {"golden_calls": [HAND_IN | {"arguments": 1}]}, "2: golden_calls: arguments of hand_in must be an obj"),
        (ROW | {"initial_state": {}}, "2: unknown key 'country' beside initial_state"),
        ({"question": "Where?", "country": "Atlantis"}, "2: reset refuses it: KeyError: 'Atlantis'"),
        ({"question": "Where?"}, "2: reset refuses it: TypeError: .*'country'"),
        (ROW | {"template": "x", "country": "France"}, "2: the same task as line 1; remove one"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(quiz: World, row: Any, said: str) -> None:
    write(quiz, {"template": "x", "question": ROW["question"], "country": "France"}, row)
    with pytest.raises(InputError, match=said):
        given_tasks(quiz, seed=1)


def test_a_missing_file_says_what_belongs_there(quiz: World) -> None:
    with pytest.raises(InputError, match=r"quiz\.jsonl: no such file; put the environment's tasks there, one JSON obj"):
        given_tasks(quiz, seed=1)
