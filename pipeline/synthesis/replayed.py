"""Tasks of a replay: one a group of recorded runs, with the answers that the runs got."""

import hashlib
from collections.abc import Iterator, Sequence

from pipeline.environments.recordings import RecordedCall, Recording
from pipeline.environments.replay import RECORDED, Replay, ReplayEnvironment, counted
from pipeline.environments.worlds import World
from pipeline.errors import InputError
from pipeline.records import JsonObject, Split, Task
from pipeline.synthesis.identity import split_of
from pipeline.tables import dumps


def replayed_tasks(world: World, seed: int) -> dict[Split, list[Task]]:
    """Tasks of a replay by split, in the order of the table; groups without a question or a call give none.

    Which split a group belongs to is decided by its name alone. Raises InputError when there is none at all.
    """
    assert issubclass(world.factory, ReplayEnvironment)
    tasks: dict[Split, list[Task]] = {"train": [], "valid": [], "eval": []}
    for task in _tasks(world, world.factory.replay, seed):
        tasks[task.split].append(task)
    if not any(tasks.values()):
        raise InputError(f"{world.tasks}: no run that it takes has a message of the user, so there is nothing to ask")
    return tasks


def _tasks(world: World, replay: Replay, seed: int) -> Iterator[Task]:
    groups: dict[str, list[Recording]] = {}
    for one in replay.recordings:
        groups.setdefault(one.group, []).append(one)
    for name, runs in groups.items():
        question = next((run.question for run in runs if run.question.strip()), None)
        if question is not None and any(run.calls for run in runs):
            yield _task(world, replay, seed, name, question, runs)


def _task(world: World, replay: Replay, seed: int, group: str, question: str, runs: list[Recording]) -> Task:
    least, golden = replay.spec.success_at, replay.spec.golden
    good = [run for run in runs if run.reward is not None and run.reward >= least]
    state: JsonObject = {RECORDED: _answers([*good, *(run for run in runs if run not in good)])}
    identity = hashlib.sha256(dumps([world.name, group, question, state]).encode()).hexdigest()[:16]
    calls = tuple({"name": call.tool, "arguments": call.arguments} for call in (good[0].calls if good else ()))
    knobs = {"group": group, "runs": len(runs), "successes": len(good), "calls": len(calls)}
    ends = _golden(good, golden)
    return Task(identity, world.name, world.name, _split(group), seed, question, state, ends, calls, knobs)


def _answers(runs: Sequence[Recording]) -> dict[str, dict[str, list[str]]]:
    """Of each call the answers that the first run got which made it, in order."""
    found: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        mine: dict[str, dict[str, list[str]]] = {}
        for call in run.calls:
            if call.answer is not None:
                mine.setdefault(call.tool, {}).setdefault(call.key, []).append(call.answer)
        for tool, answers in mine.items():
            found[tool] = answers | found.get(tool, {})
    return found


def _golden(good: Sequence[Recording], golden: tuple[str, ...]) -> JsonObject:
    """The different ways in which successful runs ended; empty when nothing says what counts."""
    if not golden or not good:
        return {}
    ways = [counted([_call(call) for call in run.calls if call.tool in golden]) for run in good]
    return {"calls": [way for place, way in enumerate(ways) if way not in ways[:place]]}


def _call(call: RecordedCall) -> tuple[str, str]:
    return call.tool, call.key


def _split(group: str) -> Split:
    return split_of(int(hashlib.sha256(group.encode()).hexdigest()[:16], 16))
