"""From names in params to worlds."""

from pathlib import Path

import pytest

from pipeline.environments import Environment
from pipeline.environments.declared import SHIPPED
from pipeline.environments.worlds import load_worlds
from pipeline.errors import InputError, ParamsError
from pipeline.params import EnvironmentsParams
from tests.environments.foreign import QUIZ


def params(folder: Path, *names: str) -> EnvironmentsParams:
    return EnvironmentsParams(names=names, folder=str(folder))


def test_shipped_and_own_worlds_in_the_order_of_params(tmp_path: Path) -> None:
    (tmp_path / "quiz.py").write_text(QUIZ)
    worlds = load_worlds(params(tmp_path, "quiz", "claims"))
    assert list(worlds) == ["quiz", "claims"]
    quiz, claims = worlds.values()
    assert [tool["function"]["name"] for tool in quiz.tools] == ["hand_in", "look_up"]
    assert (quiz.tasks, claims.tasks) == (tmp_path / "quiz.jsonl", None)
    assert (len(quiz.fingerprint), len(claims.fingerprint)) == (16, 16)
    assert "claims" in claims.procedure


def test_an_unknown_name_is_answered_with_a_close_one(tmp_path: Path) -> None:
    (tmp_path / "quiz.py").write_text(QUIZ)
    with pytest.raises(ParamsError, match=r"no environment 'quizz'; did you mean 'quiz'\?"):
        load_worlds(params(tmp_path, "quizz"))
    with pytest.raises(ParamsError, match=r"no environment 'zebra'; known are .*claims.*quiz \(your own: .*zebra"):
        load_worlds(params(tmp_path, "zebra"))


def test_a_declared_file_of_the_users_is_found_and_one_name_means_one_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text((SHIPPED / "claims.yaml").read_text())
    world = load_worlds(params(tmp_path, "mine"))["mine"]
    assert (world.name, world.tasks, len(world.fingerprint)) == ("mine", None, 16)
    (tmp_path / "mine.py").write_text(QUIZ)
    with pytest.raises(ParamsError, match=r"mine\.py: stands beside mine\.yaml; keep one of them"):
        load_worlds(params(tmp_path, "mine"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", r"own\.py: no public class with `reset`; leave exactly one"),
        (QUIZ + QUIZ.replace("QuizEnvironment", "Other"), r"several public classes .*\(QuizEnvironment, Other\)"),
        (QUIZ.replace("get_reward", "score"), r"QuizEnvironment has no method get_reward"),
        (QUIZ.replace("Args:", "Arguments:"), r"QuizEnvironment\.hand_in is public, so it is a tool: .*docstring"),
        ("import os\n\n1 / 0\n", r"own\.py:3: cannot be run: ZeroDivisionError: division by zero"),
        ("def (\n", r"own\.py:1: cannot be run: SyntaxError"),
        ("from no_such_module import x\n", r"own\.py:1: cannot be run: ModuleNotFoundError"),
    ],
)
def test_a_file_that_defines_no_world_says_why(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(InputError, match=said):
        load_worlds(params(tmp_path, "own"))


def test_a_subclass_of_ours_is_taken_as_it_is_and_an_import_is_no_second_class(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(
        "from pipeline.environments.outside import AnswerEnvironment\n\n\nclass Desk(AnswerEnvironment):\n"
        '    """Answers, and rings."""\n\n    def ring(self) -> str:\n        """Ring."""\n        return "ding"\n'
    )
    world = load_worlds(params(tmp_path, "desk"))["desk"]
    assert world.factory.__name__ == "Desk"
    assert issubclass(world.factory, Environment)
    assert [tool["function"]["name"] for tool in world.tools] == ["ring"]
