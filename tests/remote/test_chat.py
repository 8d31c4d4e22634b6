"""The client against a real socket: what it sends, what it survives, what it remembers, and what it never shows."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import WorkspaceError
from pipeline.remote.chat import Chat
from pipeline.remote.endpoint import Endpoint
from pipeline.remote.faults import EndpointError, Fault, RemoteFault
from pipeline.remote.memory import Memory
from pipeline.remote.wire import Usage
from tests.openai_server import (
    Answer,
    ScriptedServer,
    call,
    message,
    refuse,
    say,
    scripted_server,
    slow,
    status,
)

HELLO = [{"role": "user", "content": "hello"}]
KEY = "sk-very-secret"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server whose script each test sets."""
    with scripted_server() as running:
        yield running


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory of its own."""
    memory = Memory(tmp_path / "cache" / "answers.sqlite")
    yield memory
    memory.close()


def endpoint(server: ScriptedServer, **changes: Any) -> Endpoint:
    """The server as an endpoint that never pauses."""
    values: dict[str, Any] = {"base_url": server.base_url, "model": "judge", "backoff": 0.0, "retries": 2}
    return Endpoint(**values | changes)


def test_request_and_answer(server: ScriptedServer, memory: Memory) -> None:
    server.script = [say("hi there")]
    with Chat(endpoint(server, extra={"top_p": 0.5}, max_tokens=7), memory) as chat:
        reply = chat.ask(HELLO)
    assert (reply.message.content, reply.fault, reply.usage) == ("hi there", None, Usage(1, 10, 5))
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "judge", "messages": HELLO, "temperature": 0.0, "max_tokens": 7, "top_p": 0.5,
    }  # fmt: skip
    assert "authorization" not in request.headers


def test_calls_come_back_with_what_cannot_be_read(server: ScriptedServer, memory: Memory) -> None:
    server.script = [call(("find", {"id": 3}), ("find", "{id: 3"), ("find", "[3]"), ("list", ""))]
    with Chat(endpoint(server), memory) as chat:
        calls = chat.ask(HELLO, tools=[{"type": "function"}]).message.tool_calls
    assert [(one.name, one.arguments) for one in calls] == [
        ("find", {"id": 3}), ("find", None), ("find", None), ("list", {}),
    ]  # fmt: skip
    assert calls[1].raw_arguments == "{id: 3"
    assert str(calls[1].parse_error).startswith("not valid JSON")
    assert calls[2].parse_error == "arguments must be a JSON object"


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (refuse("I will not."), Fault.REFUSED),
        (say("", finish="content_filter"), Fault.REFUSED),
        (say(""), Fault.EMPTY),
        (say(None), Fault.EMPTY),
        (say(" \n"), Fault.EMPTY),
        (say("half an ans", finish="length"), Fault.TRUNCATED),
    ],
)
def test_an_answer_that_is_none_is_a_fault_and_never_text(
    answer: Answer, fault: Fault, server: ScriptedServer, memory: Memory
) -> None:
    server.script = [answer]
    with Chat(endpoint(server), memory) as chat:
        assert [chat.ask(HELLO).fault for _ in range(2)] == [fault, fault]
    assert len(server.requests) == 1


PASSING = {
    "busy": status(429), "internal": status(500), "gateway": status(502), "overloaded": status(529),
    "dropped": Answer(b"", drop=True), "no_json": Answer(b"<html>"), "no_choice": Answer(b'{"choices": []}'),
    "surrogate": Answer(b'{"choices": [{"message": {"content": "\\ud800"}}]}'),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(PASSING))
def test_passing_faults_are_tried_again(name: str, server: ScriptedServer, memory: Memory) -> None:
    server.script = [PASSING[name], PASSING[name], say("at last")]
    with Chat(endpoint(server), memory) as chat:
        assert chat.ask(HELLO).message.content == "at last"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("name", "fault"), [("busy", Fault.BUSY), ("internal", Fault.SERVER_ERROR), ("dropped", Fault.UNREACHABLE)]
)
def test_tries_are_bounded_and_failures_are_not_remembered(
    name: str, fault: Fault, server: ScriptedServer, memory: Memory
) -> None:
    server.script = [PASSING[name]] * 3 + [say("later")]
    with Chat(endpoint(server), memory) as chat:
        with pytest.raises(RemoteFault, match=f"^{fault.value}: ") as caught:
            chat.ask(HELLO)
        assert caught.value.fault is fault
        assert len(server.requests) == 3
        assert chat.ask(HELLO).message.content == "later"


def test_slow_and_trickling_answers_are_timeouts(server: ScriptedServer, memory: Memory) -> None:
    trickling = Answer(say("x").body, trickle=0.02)
    for answer in (slow(5.0, say("x")), trickling):
        server.script = lambda _, answer=answer: answer
        with (
            Chat(endpoint(server, timeout=0.05, retries=0), memory) as chat,
            pytest.raises(RemoteFault, match=r"timeout: no answer within 0.05 s"),
        ):
            chat.ask(HELLO)


def test_nobody_listens(memory: Memory) -> None:
    with scripted_server() as server:
        gone = endpoint(server, retries=1)
    with Chat(gone, memory) as chat, pytest.raises(RemoteFault, match="unreachable: ConnectError"):
        chat.ask(HELLO)


def test_a_request_that_is_rejected_is_not_sent_again(server: ScriptedServer, memory: Memory) -> None:
    server.script = [status(400, "too long"), say("x")]
    with Chat(endpoint(server), memory) as chat, pytest.raises(RemoteFault, match=r"rejected: status 400: .*too long"):
        chat.ask(HELLO)
    assert len(server.requests) == 1


@pytest.mark.parametrize("code", [301, 401, 403, 404])
def test_a_wrong_endpoint_ends_the_stage_and_names_the_fix(code: int, server: ScriptedServer, memory: Memory) -> None:
    server.script = [status(code, location="http://127.0.0.1:1/")]
    with (
        Chat(endpoint(server), memory) as chat,
        pytest.raises(EndpointError, match=r"mend base_url, model or key_env$"),
    ):
        chat.ask(HELLO)


def test_an_outage_ends_the_stage_and_single_failures_do_not(server: ScriptedServer, memory: Memory) -> None:
    failing = [status(500), status(500), say("x"), status(500), status(500), status(500)]
    server.script = failing
    with Chat(endpoint(server, retries=0, give_up=3), memory) as chat:
        for number in range(5):
            if number != 2:
                with pytest.raises(RemoteFault):
                    chat.ask(HELLO, draw=number)
            else:
                chat.ask(HELLO, draw=number)
        with pytest.raises(EndpointError, match="3 requests in a row had no answer"):
            chat.ask(HELLO, draw=5)


def test_pauses_grow_and_heed_the_server(
    server: ScriptedServer, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    server.script = [status(503), status(429, retry_after="7"), status(429, retry_after="1e9"), status(503), say("x")]
    with Chat(endpoint(server, retries=4, backoff=1.0), memory) as chat:
        chat.ask(HELLO)
    assert 0.5 <= pauses[0] <= 1.0
    assert pauses[1] == 7.0
    assert 2.0 <= pauses[2] <= 4.0
    assert 4.0 <= pauses[3] <= 8.0


def test_remembered_by_all_that_was_asked(server: ScriptedServer, memory: Memory, tmp_path: Path) -> None:
    server.script = lambda request: say(f"answer {len(server.requests)}")
    asked: list[dict[str, Any]] = [{}, {"draw": 1}, {"tools": [{"type": "function"}]}, {"form": {"type": "text"}}]

    def answers(memory: Memory, **changes: Any) -> list[str | None]:
        with Chat(endpoint(server, **changes), memory) as chat:
            return [chat.ask(HELLO, **one).message.content for one in asked]

    first = answers(memory)
    assert first == [f"answer {n}" for n in (1, 2, 3, 4)]
    again = Memory(tmp_path / "cache" / "answers.sqlite")
    assert answers(again, timeout=9.0, concurrency=1) == first
    again.close()
    assert len(server.requests) == 4
    for changes in ({"model": "other"}, {"temperature": 1.0}, {"max_tokens": 9}, {"extra": {"top_p": 0.5}}):
        assert not set(answers(memory, **changes)) & set(first)


def test_equal_requests_at_once_are_sent_once_and_requests_are_bounded(server: ScriptedServer, memory: Memory) -> None:
    server.script = lambda request: slow(0.02, say(request.last))
    texts = ["a", "b", "c", "d"] * 4
    with Chat(endpoint(server, concurrency=2), memory) as chat, ThreadPoolExecutor(16) as pool:
        said = list(pool.map(lambda text: chat.ask([{"role": "user", "content": text}]).message.content, texts))
    assert said == texts
    assert len(server.requests) == 4
    assert server.most_at_once == 2


def test_two_processes_agree_on_the_first_answer(memory: Memory, tmp_path: Path) -> None:
    other = Memory(tmp_path / "cache" / "answers.sqlite")
    assert memory.keep("k", "first") == "first"
    assert other.keep("k", "second") == "first"
    assert other.get("k") == "first"
    assert other.get("unknown") is None
    other.close()


def test_a_broken_memory_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(WorkspaceError, match=r"answers\.sqlite: .*delete the file"):
        Memory(path).get("k")


def test_the_key_goes_into_the_header_and_nowhere_else(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    monkeypatch.setenv("JUDGE_KEY", f"{KEY}\n")
    memory = Memory(tmp_path / "answers.sqlite")
    server.script = [say("x"), status(400, f"wrong key {KEY} given"), status(401, f"wrong key {KEY} given")]
    with Chat(endpoint(server, key_env="JUDGE_KEY"), memory) as chat:
        chat.ask(HELLO)
        with pytest.raises(RemoteFault, match=r"wrong key \*\*\* given"):
            chat.ask(HELLO, draw=1)
        with pytest.raises(EndpointError, match=r"wrong key \*\*\* given"):
            chat.ask(HELLO, draw=2)
        assert KEY not in repr(vars(chat.endpoint))
    memory.close()
    assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {KEY}"] * 3
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.iterdir())
    assert KEY not in caplog.text


def test_a_missing_key_names_its_variable(
    server: ScriptedServer, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with pytest.raises(EndpointError, match="environment variable JUDGE_KEY is not set"):
        Chat(endpoint(server, key_env="JUDGE_KEY"), memory)


def test_what_no_json_can_carry_is_replaced(server: ScriptedServer, memory: Memory) -> None:
    server.script = [say("x")]
    with Chat(endpoint(server), memory) as chat:
        chat.ask([{"role": "user", "content": "a\ud800b"}])
    assert server.requests[0].last == "a\ufffdb"


def test_a_missing_usage_is_estimated(server: ScriptedServer, memory: Memory) -> None:
    server.script = [say("x" * 400, usage=None)]
    with Chat(endpoint(server), memory) as chat:
        usage = chat.ask([{"role": "user", "content": "y" * 4000}]).usage
    assert usage.completion_tokens == 100
    assert 1000 <= usage.prompt_tokens <= 1100


def test_reasoning_is_kept(server: ScriptedServer, memory: Memory) -> None:
    server.script = [message({"content": "42", "reasoning_content": "six times seven"})]
    with Chat(endpoint(server), memory) as chat:
        assert chat.ask(HELLO).message.reasoning == "six times seven"
    assert json.loads(str(memory.get(memory_key(memory))))["choices"][0]["message"]["content"] == "42"


def memory_key(memory: Memory) -> str:
    """The only key that is kept."""
    ((key,),) = memory._open().execute("SELECT key FROM answers").fetchall()
    return str(key)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"base_url": "ftp://x/v1"}, "must be an address"),
        ({"base_url": "http://user:pw@x/v1"}, "must hold no user, key or query"),
        ({"base_url": "http://x/v1?key=abc"}, "must hold no user, key or query"),
        ({"key_env": "sk-abc"}, "should match pattern"),
        ({"extra": {"messages": []}}, "messages cannot be set here"),
        ({"extra": {"API-Key": "abc"}}, "must hold no key"),
    ],
)
def test_endpoints_that_are_refused(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Endpoint(**{"base_url": "http://x/v1", "model": "m"} | changes)
