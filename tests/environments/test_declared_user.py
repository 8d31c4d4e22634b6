"""A declared user: it knows what the question leaves out, and tells it when asked."""

import random

import pytest

from pipeline.environments.declared import SHIPPED, DeclaredEnvironment, load_environment
from pipeline.environments.declared.load import parse_spec
from pipeline.environments.tools import reset_arguments
from pipeline.environments.users import ScriptedUser
from pipeline.environments.worlds import make_world
from pipeline.errors import SpecError
from pipeline.graders.reward import outcome, process
from pipeline.records import Task
from pipeline.synthesis.scripted import run_scripted
from pipeline.synthesis.tasks import unique_tasks

ORDERS = make_world("orders", load_environment(SHIPPED / "orders.yaml"))
TEXT = (SHIPPED / "orders.yaml").read_text(encoding="utf-8")


def unnamed() -> Task:
    return next(task for task in unique_tasks(ORDERS, 1, "train", 40) if task.template == "unnamed")


def test_the_question_leaves_the_request_out_and_the_user_tells_it_when_asked() -> None:
    task = unnamed()
    request = task.golden_calls[0]["arguments"]["request_id"]
    assert request not in task.question
    environment = ORDERS.factory()
    assert isinstance(environment, DeclaredEnvironment)
    environment.reset(**reset_arguments(task))
    assert environment.user is not None
    user = ScriptedUser(environment.user, "seed")
    assert request in (user.answer("Which request is it?") or "")
    assert user.answer("What colour was it?") == "That I cannot tell you."
    assert user.answer("Settled: swapped.") is None


def test_the_demonstration_asks_first_and_is_perfect() -> None:
    messages, grades = run_scripted(ORDERS, unnamed(), frozenset(), random.Random(1))
    assert [message.role for message in messages[:4]] == ["system", "user", "assistant", "user"]
    assert (messages[2].content, messages[2].tool_calls) == ("Which request is it, please?", ())
    assert (outcome(grades), process(grades)) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  values: {request: request.id}", "  values: {}", r"knows\.request: .* say \{value\}, but it has none"),
        ("{request: request.id}", "{reqest: request.id}", r"no fact .* 'reqest'; did you mean 'request'\?"),
        ("{request: request.id}", "{request: order.price}", r"gives int, but string is needed"),
    ],
)  # fmt: skip
def test_a_user_that_cannot_say_what_it_knows_is_refused(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(SpecError, match=said):
        parse_spec(TEXT.replace(old, new), "orders.yaml")


def test_asking_a_user_that_is_not_declared_is_refused() -> None:
    start, end = TEXT.index("user:\n"), TEXT.index("bystanders:")
    with pytest.raises(SpecError, match=r"templates\.unnamed\.clarify: there is no user to ask; declare one"):
        parse_spec(TEXT[:start] + TEXT[end:], "orders.yaml")
