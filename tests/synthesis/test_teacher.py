"""Teacher runs through a real socket: kept when they earn outcome 1, counted otherwise, the same bytes again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.environments import Environment
from pipeline.environments.users import UserScript
from pipeline.environments.worlds import Worlds, make_world
from pipeline.records import Grade, JsonObject, Task
from pipeline.remote.endpoint import TeacherParams
from pipeline.remote.faults import EndpointError
from pipeline.remote.memory import Memory
from pipeline.rows import demo_to_row
from pipeline.synthesis.demos import demonstrate
from pipeline.synthesis.tasks import unique_tasks
from pipeline.synthesis.teacher import NOTHING, Taught, teach
from tests.openai_server import (
    Answer,
    Request,
    ScriptedServer,
    call,
    message,
    refuse,
    say,
    scripted_server,
    slow,
    status,
)
from tests.worlds import CLAIMS, WORLDS

TASKS = list(unique_tasks(CLAIMS, 5, "train", 6))
GOLDEN = {task.question: [(one["name"], one["arguments"]) for one in task.golden_calls] for task in TASKS}


class Easy(Environment):
    """Always solved; a task may bring a user or a fault along."""

    instant = True

    def reset(self, **task: Any) -> str | None:
        """Start."""
        state: JsonObject = task["initial_state"]
        if state.get("broken"):
            raise OSError("down")
        self.user = UserScript.model_validate(state["user"]) if "user" in state else None
        self._null = bool(state.get("null"))
        return None

    def _grade(self) -> tuple[Grade, ...]:
        return (Grade("outcome", "outcome", None if self._null else 1.0),)

    def _state(self) -> JsonObject:
        return {}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server whose script each test sets."""
    with scripted_server() as running:
        yield running


EASY = {"easy": make_world("easy", Easy)}
Teach = Callable[..., Taught]


def easy(state: JsonObject) -> Task:
    """A task of the easy world."""
    return Task("t", "easy", "plain", "train", 0, "Do it.", state, {}, (), {})


@pytest.fixture
def lesson(server: ScriptedServer, tmp_path: Path) -> Teach:
    """Has tasks played by the server."""

    def taught(tasks: list[Task] = TASKS, worlds: Worlds = WORLDS, memory: str = "a", **changes: Any) -> Taught:
        values = {"base_url": server.base_url, "model": "teacher", "tasks": len(tasks), "backoff": 0.0, "retries": 0}
        remembered = Memory(tmp_path / memory)
        found = teach(worlds, tasks, TeacherParams.model_validate(values | changes), remembered)
        remembered.close()
        return found

    return taught


def spoken(request: Request) -> tuple[str, int]:
    """The task's question and how often the teacher has spoken."""
    roles = [one["role"] for one in request.messages]
    return str(request.messages[roles.index("user")]["content"]), roles.count("assistant")


def golden(request: Request) -> Answer:
    """A teacher without faults."""
    question, turn = spoken(request)
    calls = GOLDEN[question]
    return call(calls[turn]) if turn < len(calls) else say("Decided.")


def test_golden_runs_are_kept_with_the_tools_own_answers(server: ScriptedServer, lesson: Teach) -> None:
    server.script = golden
    taught = lesson()
    assert taught.reasons == {"kept": 6}
    assert [demo.task_id for demo in taught.demos] == [task.task_id for task in TASKS]
    assert {(demo.author, demo.outcome, demo.process) for demo in taught.demos} == {("teacher", 1.0, 1.0)}
    for demo, model in zip(taught.demos, demonstrate(WORLDS, TASKS), strict=True):
        assert (demo.tools, demo.harness_hash) == (model.tools, model.harness_hash)
        assert [m.content for m in demo.messages if m.role == "tool"] == [
            m.content for m in model.messages if m.role == "tool"
        ]
        ids = [one.id for m in demo.messages for one in m.tool_calls]
        assert ids == [f"call_{turn}_0" for turn in range(len(ids))]
        assert [m.tool_call_id for m in demo.messages if m.role == "tool"] == ids
    first = server.requests[0]
    assert first.body["tools"] == list(CLAIMS.tools)
    assert first.messages[0] == {"role": "system", "content": CLAIMS.procedure}
    assert taught.metrics() == {"kept": 6, "calls": len(server.requests), "tokens": 15 * len(server.requests)}


def test_the_same_run_again_asks_nothing_and_gives_the_same_bytes(server: ScriptedServer, lesson: Teach) -> None:
    server.script = lambda request: slow(0.001 * (len(server.requests) % 4), golden(request))
    first = lesson(concurrency=4)
    asked = len(server.requests)
    server.script = lambda _: status(500)
    again = lesson(concurrency=1)
    assert list(map(demo_to_row, first.demos)) == list(map(demo_to_row, again.demos))
    assert (again.metrics(), len(server.requests)) == (first.metrics(), asked)


def test_runs_that_are_no_demonstration_count_under_their_reason(server: ScriptedServer, lesson: Teach) -> None:
    order = [task.question for task in TASKS]
    others: list[Callable[[int], Answer]] = [
        lambda _: say("I approve of it."),
        lambda _: call(("get_claim", {"claim_id": "C-0000"})),
        lambda turn: say("") if turn else call(("get_claim", {"claim_id": "C-0000"})),
        lambda _: refuse(),
        lambda _: call(("get_claim", "{claim")),
    ]

    def answer(request: Request) -> Answer:
        question, turn = spoken(request)
        place = order.index(question)
        return golden(request) if place == 5 else others[place](turn)

    server.script = answer
    taught = lesson(max_turns=12)
    assert taught.reasons == {"empty": 1, "failed": 1, "kept": 1, "malformed": 1, "max_turns": 1, "refused": 1}
    assert [demo.task_id for demo in taught.demos] == [TASKS[5].task_id]


def test_refused_calls_go_back_to_the_teacher(server: ScriptedServer, lesson: Teach) -> None:
    def answer(request: Request) -> Answer:
        question, turn = spoken(request)
        calls = [("fly", {}), *GOLDEN[question]]
        return call(calls[turn]) if turn < len(calls) else say("Decided.")

    server.script = answer
    taught = lesson(TASKS[:1])
    (demo,) = taught.demos
    assert demo.process is not None
    assert demo.process < 1.0
    assert next(m.content for m in demo.messages if m.role == "tool") == "error: no such tool: fly"


def test_the_budget_cuts_the_same_runs_for_any_number_of_workers(server: ScriptedServer, lesson: Teach) -> None:
    server.script = golden
    taught = [lesson(memory=str(n), concurrency=n, budget={"calls": 12}) for n in (1, 4)]
    assert taught[0] == taught[1]
    assert taught[0].reasons["over_budget"] == 6 - len(taught[0].demos) > 0
    assert [demo.task_id for demo in taught[0].demos] == [task.task_id for task in TASKS[: len(taught[0].demos)]]


def test_tries_are_asked_apart_and_thoughts_are_kept(server: ScriptedServer, lesson: Teach) -> None:
    def answer(request: Request) -> Answer:
        return message({"content": f"Done {len(server.requests)}.", "reasoning_content": "Easy."})

    server.script = answer
    taught = lesson([easy({})], EASY, tries=3, temperature=1.0)
    assert len({demo.messages[-1].content for demo in taught.demos}) == 3
    assert {demo.messages[-1].reasoning for demo in taught.demos} == {"Easy."}
    assert {demo.process for demo in taught.demos} == {None}


ASKED = {"intent": "x", "knows": {"size": {"asked": ["how large"], "says": ["{value}."], "value": "Ten"}}}


def test_the_teacher_may_ask_the_user(server: ScriptedServer, lesson: Teach) -> None:
    server.script = [say("How large?"), say("Done.")]
    (demo,) = lesson([easy({"user": ASKED})], EASY).demos
    assert [(one.role, one.content) for one in demo.messages] == [
        ("user", "Do it."), ("assistant", "How large?"), ("user", "Ten."), ("assistant", "Done."),
    ]  # fmt: skip


def test_faults_of_the_world_and_of_its_user_are_counted_apart(server: ScriptedServer, lesson: Teach) -> None:
    server.script = lambda _: say("Done.")
    wanting = {"intent": "x", "knows": {"size": {"asked": ["how large"]}}}
    taught = lesson([easy({"broken": True}), easy({"user": wanting}), easy({"null": True})], EASY)
    assert (taught.demos, taught.reasons) == ((), {"environment_error": 1, "not_graded": 1, "user_error": 1})


@pytest.mark.parametrize("code", [401, 404])
def test_no_teacher_at_all_ends_the_stage(code: int, server: ScriptedServer, lesson: Teach) -> None:
    server.script = lambda _: status(code)
    with pytest.raises(EndpointError, match="mend base_url, model or key_env"):
        lesson()


def test_no_run_has_no_metrics() -> None:
    assert NOTHING.metrics() == {}
