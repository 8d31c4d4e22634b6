"""Tasks that the user gives: `NAME.jsonl` beside `NAME.py`, one JSON object a line.

| key | what |
| --- | --- |
| `question` | what the user asks |
| `split` | train, valid or eval; without it the content's hash decides (76, 12 and 12 percent) |
| `template` | a kind of task, for figures by kind; without it the environment's name |
| `golden_calls` | a list of `{"name", "arguments"}` that solves the task: run as a proof, and demonstrated |
| `golden_state` | what the final state is compared with, by environments that do |
| `initial_state` | the state to start from; without it all other keys of the row: what `reset` of a TRL class takes |

Every row is started once, and its golden calls are run, so that a bad one is found here, by file and line.
"""

import hashlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import orjson

from pipeline.environments import Environment
from pipeline.environments.replay import ReplayEnvironment
from pipeline.environments.tools import EnvironmentFault, call_tool, reset_arguments
from pipeline.environments.worlds import World
from pipeline.errors import InputError
from pipeline.graders.reward import outcome, process
from pipeline.harness_hash import harness_hash
from pipeline.records import Demo, JsonObject, Message, Split, Task, ToolCall
from pipeline.synthesis.identity import split_of
from pipeline.synthesis.replayed import replayed_tasks
from pipeline.tables import dumps

CLOSING = "Done."
"""What the agent of a demonstration says when it has made its calls."""
_KINDS: dict[type, str] = {str: "text", list: "a list", dict: "an object"}
SPLITS: tuple[Split, ...] = ("train", "valid", "eval")


class BadRow(InputError):
    """A row that is no task; `given_tasks` puts file and line before it."""


def given_tasks(world: World, seed: int, proved: Collection[Split] = SPLITS) -> dict[Split, list[Task]]:
    """The tasks of a world's file by split, in the order of the file; of a replay one a group of recorded runs.

    Raises InputError naming file and line: of a row that is no task, is there twice, or, of the splits in `proved`,
    cannot be started or solved.
    """
    if world.tasks is None:
        raise InputError(f"environment {world.name!r}: its tasks are drawn from its spec, not given in a file")
    if issubclass(world.factory, ReplayEnvironment):
        return replayed_tasks(world, seed)
    tasks: dict[Split, list[Task]] = {split: [] for split in SPLITS}
    first: dict[str, int] = {}
    for number, line in _lines(world.tasks):
        try:
            task = _task(world, line, seed, number)
            _refuse_twice(first.setdefault(task.task_id, number), number)
            if task.split in proved:
                _prove(world, task)
        except BadRow as error:
            raise InputError(f"{world.tasks}:{number}: {error}") from error
        tasks[task.split].append(task)
    return tasks


def given_demo(world: World, task: Task) -> Demo | None:
    """The run of a task's golden calls, one a turn; None without golden calls. Raises BadRow when they fail.

    None, too, where a replay does not know a good end: its runs are traces already.
    """
    if not task.golden_calls or (issubclass(world.factory, ReplayEnvironment) and not task.golden_state):
        return None
    with _started(world, task) as (environment, opening):
        for number, golden in enumerate(task.golden_calls):
            _make(environment, golden, number)
        environment.said = CLOSING
        environment.transcript.append(Message("assistant", CLOSING))
        grades = environment.grade()
    reached = outcome(grades)
    if reached is None:
        raise BadRow(f"golden_calls: their run has no outcome ({grades[0].reason if grades else 'no grade'})")
    before = (Message("system", world.procedure),) if world.procedure else ()
    messages = (*before, Message("user", opening), *environment.transcript)
    return Demo(task.task_id, "golden", messages, world.tools, harness_hash(world.tools), reached, process(grades))


def _make(environment: Environment, golden: JsonObject, number: int) -> None:
    """One golden call, put into the environment's transcript with its answer."""
    call = ToolCall(f"call_{number}_0", golden["name"], golden["arguments"], dumps(golden["arguments"]))
    answer = call_tool(environment, call)
    if answer.error:
        raise BadRow(f"golden_calls: {call.name} {call.raw_arguments} is answered: {answer.content}")
    environment.transcript.append(Message("assistant", None, (call,)))
    environment.transcript.append(Message("tool", answer.content, tool_call_id=call.id, name=call.name))


def _refuse_twice(first: int, number: int) -> None:
    if first != number:
        raise BadRow(f"the same task as line {first}; remove one")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: no such file; put the environment's tasks there, one JSON object a line: "
            '{"question": "...", and what its reset takes}'
        ) from error
    yield from ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def _task(world: World, line: bytes, seed: int, number: int) -> Task:
    row = _object(line)
    question = _taken(row, "question", str, "")
    if not question.strip():
        raise BadRow("question is missing or empty; every task needs one")
    template = _taken(row, "template", str, world.name) or world.name
    split = _taken(row, "split", str, "")
    if split not in ("", *SPLITS):
        raise BadRow(f"split is {split!r}; say {', '.join(SPLITS)}, or leave it out")
    calls = tuple(_call(call) for call in _taken(row, "golden_calls", list, []))
    golden_state = _taken(row, "golden_state", dict, {})
    state = _state(row)
    identity = hashlib.sha256(dumps([world.name, template, question, state]).encode()).hexdigest()[:16]
    return Task(
        identity, world.name, template, _split(split, identity), seed, question, state, golden_state, calls,
        {"line": number},
    )  # fmt: skip


def _object(line: bytes) -> JsonObject:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadRow(f"not valid JSON ({error})") from error
    if not isinstance(row, dict):
        raise BadRow(f"a JSON object is needed, found {type(row).__name__}")
    return row


def _taken(row: JsonObject, key: str, kind: type, absent: Any) -> Any:
    value = row.pop(key, None)
    if value is None:
        return absent
    if not isinstance(value, kind):
        raise BadRow(f"{key} must be {_KINDS[kind]}, found {value!r}")
    return value


def _call(call: Any) -> JsonObject:
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        raise BadRow(f'golden_calls: a call is {{"name": ..., "arguments": {{...}}}}, found {call!r}')
    arguments = call.get("arguments", {})
    if not isinstance(arguments, dict):
        raise BadRow(f"golden_calls: arguments of {call['name']} must be an object, found {arguments!r}")
    return {"name": call["name"], "arguments": arguments}


def _state(row: JsonObject) -> JsonObject:
    """What is left of a row once its own keys are taken, or its `initial_state`."""
    if "initial_state" not in row:
        return row
    state: JsonObject = _taken(row, "initial_state", dict, {})
    if row:
        raise BadRow(f"unknown key {next(iter(row))!r} beside initial_state; put it inside")
    return state


def _split(named: str, identity: str) -> Split:
    return next((split for split in get_args(Split) if split == named), split_of(int(identity, 16)))


def _prove(world: World, task: Task) -> None:
    try:
        if given_demo(world, task) is None:
            with _started(world, task):
                pass
    except EnvironmentFault as error:
        raise BadRow(str(error)) from error


@contextmanager
def _started(world: World, task: Task) -> Iterator[tuple[Environment, str]]:
    """A started environment, and the question as the agent reads it."""
    environment = world.factory()
    try:
        try:
            added = environment.reset(**reset_arguments(task))
        except Exception as error:
            raise BadRow(f"reset refuses it: {type(error).__name__}: {error}") from error
        yield environment, task.question + (added or "")
    finally:
        environment._release()
