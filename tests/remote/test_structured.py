"""Structured answers, repairs, and budgets whose results do not depend on the order of arrival."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from pipeline.remote.chat import Chat
from pipeline.remote.endpoint import Budget, Endpoint
from pipeline.remote.faults import EndpointError, Fault
from pipeline.remote.memory import Memory
from pipeline.remote.spending import in_order
from pipeline.remote.structured import Asked, ask_for
from pipeline.remote.wire import Usage
from tests.openai_server import Request, ScriptedServer, refuse, say, say_json, scripted_server, slow, status

ASK = [{"role": "system", "content": "Count."}, {"role": "user", "content": "How many?"}]

Ask = Callable[..., Asked["Count"]]


class Count(BaseModel):
    """A form of one number."""

    model_config = ConfigDict(extra="forbid")

    number: int


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server whose script each test sets."""
    with scripted_server() as running:
        yield running


@pytest.fixture
def ask(server: ScriptedServer, tmp_path: Path) -> Ask:
    """Asks the server for a count."""

    def asked(check: Callable[[Count], str | None] | None = None, **changes: Any) -> Asked[Count]:
        endpoint = Endpoint(base_url=server.base_url, model="m", backoff=0.0, retries=0, **changes)
        memory = Memory(tmp_path / "answers.sqlite")
        with Chat(endpoint, memory) as chat:
            answer = ask_for(chat, Count, ASK, check)
        memory.close()
        return answer

    return asked


@pytest.mark.parametrize(
    "content",
    ['{"number": 3}', '```json\n{"number": 3}\n```', '<think>{"number": 9}</think>\n{"number": 3}'],
)
def test_a_good_answer(content: str, server: ScriptedServer, ask: Ask) -> None:
    server.script = [say(content)]
    assert ask() == Asked(Count(number=3), Usage(1, 10, 5))
    form = server.requests[0].body["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["strict"] is True
    assert form["json_schema"]["schema"]["required"] == ["number"]
    assert form["json_schema"]["schema"]["additionalProperties"] is False


@pytest.mark.parametrize(("kind", "sent"), [("json_object", {"type": "json_object"}), ("none", None)])
def test_servers_without_schemas_are_told_in_words(kind: str, sent: Any, server: ScriptedServer, ask: Ask) -> None:
    server.script = [say_json(number=3)]
    assert ask(response_format=kind).value == Count(number=3)
    assert server.requests[0].body.get("response_format") == sent
    assert '"required":["number"]' in server.requests[0].last


def test_a_malformed_answer_goes_back_with_what_is_wrong(server: ScriptedServer, ask: Ask) -> None:
    server.script = [say("three"), say_json(number="many", more=1), say_json(number=3)]
    assert ask() == Asked(Count(number=3), Usage(3, 30, 15))
    talk = server.requests[2].messages
    assert [one["role"] for one in talk] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert talk[2]["content"] == "three"
    assert talk[3]["content"].startswith("That answer does not fit: Invalid JSON")
    assert "number: Input should be a valid integer" in talk[5]["content"]
    assert "more: Extra inputs are not permitted" in talk[5]["content"]


def test_what_fits_the_form_may_still_be_complained_of(server: ScriptedServer, ask: Ask) -> None:
    server.script = [say_json(number=-3), say_json(number=3)]
    assert ask(lambda count: "number is negative" if count.number < 0 else None).value == Count(number=3)
    assert "number is negative" in server.requests[1].last


def test_repairs_are_bounded_and_the_result_is_null(server: ScriptedServer, ask: Ask) -> None:
    server.script = lambda _: say("three")
    answer = ask(repairs=1)
    assert (answer.value, answer.fault, answer.usage.calls) == (None, Fault.MALFORMED, 2)
    assert answer.reason.startswith("malformed: Invalid JSON")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("answer", "fault", "calls"),
    [
        (refuse(), Fault.REFUSED, 1),
        (say(""), Fault.EMPTY, 1),
        (say(None), Fault.EMPTY, 1),
        (say('{"numb', finish="length"), Fault.TRUNCATED, 1),
        (status(500), Fault.SERVER_ERROR, 0),
    ],
)
def test_no_answer_is_null_without_repairs(
    answer: Any, fault: Fault, calls: int, server: ScriptedServer, ask: Ask
) -> None:
    server.script = [answer]
    found = ask()
    assert (found.value, found.fault, found.usage.calls) == (None, fault, calls)
    assert len(server.requests) == 1


def _many(server: ScriptedServer, path: Path, workers: int, budget: Budget) -> list[Asked[Count]]:
    memory = Memory(path)
    endpoint = Endpoint(base_url=server.base_url, model="m", backoff=0.0, repairs=1, concurrency=workers)
    with Chat(endpoint, memory) as chat:
        jobs = [lambda n=n: ask_for(chat, Count, [{"role": "user", "content": str(n)}]) for n in range(12)]
        found = in_order(jobs, budget, workers)
    memory.close()
    return found


def _echo(request: Request) -> Any:
    number = int(request.messages[0]["content"])
    if number % 5 == 3 and len(request.messages) == 1:
        return say("malformed")
    return slow(0.003 * (3 - number % 4), say(json.dumps({"number": number})))


@pytest.mark.parametrize(
    ("budget", "expected"), [(Budget(), 12), (Budget(calls=6), 5), (Budget(tokens=100), 6), (Budget(calls=1), 1)]
)
def test_results_depend_on_neither_workers_nor_memory(
    server: ScriptedServer, tmp_path: Path, budget: Budget, expected: int
) -> None:
    server.script = _echo
    alone = _many(server, tmp_path / "a", 1, budget)
    crowd = _many(server, tmp_path / "b", 5, budget)
    sent = len(server.requests)
    remembered = _many(server, tmp_path / "b", 3, budget)
    assert alone == crowd == remembered
    assert len(server.requests) == sent or any(answer.fault for answer in alone)
    known = [answer.value.number for answer in alone if answer.value is not None]
    assert known == list(range(len(known)))
    assert {answer.fault for answer in alone[len(known) :]} <= {Fault.OVER_BUDGET}
    assert len(known) == expected


def test_an_unusable_endpoint_ends_the_whole(server: ScriptedServer, tmp_path: Path) -> None:
    server.script = lambda _: status(401)
    with pytest.raises(EndpointError, match="the key is refused"):
        _many(server, tmp_path / "a", 3, Budget())
    assert len(server.requests) < 12


def test_no_jobs() -> None:
    assert in_order([], Budget(), 3) == []
