"""Walks: deeds that the tools allow, rows that are told or found, and an end that needs every deed."""

import random
from collections import Counter
from functools import cache

import pytest

from pipeline.env_commands.checking import Effort, check
from pipeline.env_commands.tasks import drawn_task
from pipeline.environments.declared.environment import make_class
from pipeline.environments.declared.load import parse_spec
from pipeline.environments.tools import call_tool, reset_arguments
from pipeline.environments.worlds import World, make_world
from pipeline.errors import SpecError
from pipeline.graders.reward import outcome, process
from pipeline.records import Grade, JsonObject, Split, Task, ToolCall
from pipeline.synthesis.demos import demonstrate
from pipeline.synthesis.tasks import Rejected, make_task, task_from, template_names, unique_tasks
from pipeline.synthesis.walks import walk_from
from tests.synthesis.walking import SPEC
from tests.worlds import CLAIMS

SPLITS: tuple[Split, ...] = ("train", "eval")
DRAW = "draw: {set_urgency.urgency: {between: [1, 5]}}"
DEEDS = ("unlock", "set_urgency", "close", "wipe", "order_part", "send")


def world_of(text: str) -> World:
    return make_world("helpdesk", make_class(parse_spec(text, "helpdesk")))


@cache
def helpdesk() -> World:
    return world_of(SPEC)


@cache
def walks() -> tuple[Task, ...]:
    drawn = (walk_from(helpdesk(), random.Random(number), "train", 1) for number in range(120))
    return tuple(task for task in drawn if isinstance(task, Task))


def play(task: Task, calls: list[JsonObject]) -> tuple[Grade, ...]:
    environment = helpdesk().factory()
    environment.reset(**reset_arguments(task))
    for call in calls:
        call_tool(environment, ToolCall("c", call["name"], call["arguments"], ""))
    return environment.grade()


def test_a_walk_is_a_function_of_its_generator() -> None:
    first, second = (walk_from(helpdesk(), random.Random("x"), "train", 1) for _ in range(2))
    assert first == second
    assert len({task.task_id for task in walks()}) == len(walks()) > 100


def test_golden_runs_earn_everything_and_are_demonstrated() -> None:
    for task in walks():
        grades = play(task, list(task.golden_calls))
        assert (outcome(grades), process(grades)) == (1.0, 1.0)
    for demo in demonstrate({"helpdesk": helpdesk()}, walks()[:10]):
        assert (demo.outcome, demo.process) == (1.0, 1.0)
        assert str(demo.messages[-1].content).startswith("Done: ")


def test_every_deed_is_needed_and_no_read_is_demanded() -> None:
    for task in walks():
        for number, call in enumerate(task.golden_calls):
            rest = [each for place, each in enumerate(task.golden_calls) if place != number]
            grades = play(task, rest)
            if call["name"] in DEEDS:
                assert outcome(grades) == 0.0, (task.question, call)
            else:
                assert (outcome(grades), process(grades)) == (1.0, 1.0)


def test_no_call_is_made_twice_and_each_is_asked_for() -> None:
    lengths: Counter[int] = Counter()
    for task in walks():
        made = [(call["name"], tuple(call["arguments"].values())) for call in task.golden_calls]
        assert len(set(made)) == len(made)
        deeds = [name for name, _ in made if name in DEEDS]
        assert (task.knobs["deeds"], task.knobs["found"]) == (len(deeds), len(made) - len(deeds))
        assert task.question.count(",") >= len(made) - 1
        lengths[len(deeds)] += 1
    assert set(lengths) == {1, 2, 3}


def test_a_row_is_told_by_its_id_or_found_by_the_call_before() -> None:
    told = found = ordered = 0
    for task in walks():
        seen: set[str] = set()
        for call in task.golden_calls:
            key = str(next(iter(call["arguments"].values())))
            if key in task.question:
                told += 1
            elif key in seen:
                found += 1
            else:
                pytest.fail(f"{key} is neither in {task.question!r} nor in an answer")
            seen |= answered(task, call)
            ordered += call["name"] == "send"
    assert told > 50
    assert found > 50
    assert ordered > 2  # the row that another deed made


def answered(task: Task, call: JsonObject) -> set[str]:
    """Ids that the answer to a golden call names."""
    environment = helpdesk().factory()
    environment.reset(**reset_arguments(task))
    for each in task.golden_calls:
        answer = call_tool(environment, ToolCall("c", each["name"], each["arguments"], "")).content
        if each is call:
            return set(answer.replace(",", " ").split())
    raise AssertionError


def test_phrases_and_ids_differ_between_splits() -> None:
    drawn = [[walk_from(helpdesk(), random.Random(n), split, 1) for n in range(20)] for split in SPLITS]
    train, held = ([task for task in tasks if isinstance(task, Task)] for tasks in drawn)
    assert all(task.question.startswith("Can you ") for task in held)
    assert not any(task.question.startswith("Can you ") for task in train)
    ids = [{key for task in tasks for rows in task.initial_state.values() for key in rows} for tasks in (train, held)]
    assert not ids[0] & ids[1]


def test_walks_have_their_share_of_drawn_tasks() -> None:
    made = Counter(task.template for task in unique_tasks(helpdesk(), 3, "train", 60))
    assert 15 < made["walk"] < 45
    assert template_names(helpdesk().factory.spec) == ["one", "walk"]  # type: ignore[attr-defined]
    drawn = task_from(helpdesk(), random.Random(5), "walk", "train", 1)
    assert isinstance(drawn, Task)
    assert drawn.template == "walk"


def test_the_check_of_environments_finds_walks_sound() -> None:
    report = check(helpdesk(), 1, Effort(tasks=12, habits=1, proofs=4))
    walked = next(each for each in report.templates if each.name == "walk")
    assert (walked.tasks, walked.faults, walked.remarks) == (12, (), ())
    assert walked.proofs["effect missing"] > 3
    assert drawn_task(helpdesk(), "walk", 1).template == "walk"


def test_a_spec_without_walks_draws_what_it_drew() -> None:
    assert "walk" not in {task.template for task in unique_tasks(CLAIMS, 1, "train", 28)}
    assert make_task(CLAIMS, 1, "train", 0) == task_from(
        CLAIMS, random.Random("task-claims-1-train-0"), "approve", "train", 1
    )


def without_intents(*kept: str) -> str:
    """The spec, only the tools that are named with an intent."""
    lines = SPEC.splitlines(keepends=True)
    return "".join(line for line in lines if "intent:" not in line or any(f"intent: {one}" in line for one in kept))


def test_what_finds_no_deed_is_stuck_and_what_needs_no_deed_is_needless() -> None:
    locked = without_intents("unlock").replace("one_of: [true, false]", "one_of: [false]").replace(DRAW, "draw: {}")
    assert walk_from(world_of(locked), random.Random(1), "train", 1) is Rejected.STUCK
    again = world_of(without_intents("set").replace("bystanders: 2", "bystanders: 0").replace("[1, 3]", "[2, 2]"))
    assert {walk_from(again, random.Random(n), "train", 1) for n in range(5)} == {Rejected.NEEDLESS}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{between: [1, 5]}}", "{one_of: [a]}}", r"walks\.draw\.set_urgency\.urgency: draws string"),
        (DRAW, "draw: {}", r"tools\.set_urgency\.intent: say under walks\.draw how set_urgency\.urgency is drawn"),
        ("{ticket_id} as {answer}", "{ticket_id}", r"tools\.close\.intent: does not say \{answer\}"),
        ("wipe device {device_id}", "wipe {device}", r"no value for a phrase is called 'device'"),
        ("wipe device {device_id}", "wipe {device_id!r}", r"takes no format; write the name alone"),
        ("wipe device {device_id}", '"wipe {device_id"', r"tools\.wipe\.intent: .*expected '}'"),
        ("length: [1, 3]", "length: [3, 1]", r"length: at least 3 is more than at most 1"),
        ("share: 0.5", "phrases: [Do it.]", r"walks\.phrases\.0: does not say \{deeds\}"),
        ("  one: {root", "  walk: {root", r"their template is called 'walk'"),
        (DRAW, "draw: {set_urgency.urg: {between: [1, 5]}}", r"no parameter of a deed is called 'set_urgency\.urg'"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(old: str, new: str, said: str) -> None:
    assert old in SPEC
    with pytest.raises(SpecError, match=said):
        parse_spec(SPEC.replace(old, new), "helpdesk")


def test_walks_without_a_deed_are_refused() -> None:
    with pytest.raises(SpecError, match=r"helpdesk:\d+:\d+: walks: no tool with `change` or `insert` has an `intent`"):
        parse_spec(without_intents("look").replace(DRAW, "draw: {}"), "helpdesk")
