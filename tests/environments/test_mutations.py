"""What graders must tell: every golden run is perfect, each spoiled one is found out, whichever way it was played."""

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.env_commands.mutations import Kind, Mutation, mutations, play, show_call
from pipeline.environments.declared import SHIPPED
from pipeline.environments.tools import call_tool, reset_arguments
from pipeline.environments.worlds import load_worlds
from pipeline.graders.reward import outcome, process, score
from pipeline.params import EnvironmentsParams
from pipeline.records import JsonObject, Task, ToolCall
from pipeline.synthesis.tasks import compiled_of, task_from, template_names

NAMES = tuple(sorted(path.stem for path in SHIPPED.glob("*.yaml")))
WORLDS = load_worlds(EnvironmentsParams(names=NAMES, folder=str(SHIPPED)))
TEMPLATES = [(name, template) for name in NAMES for template in template_names(compiled_of(WORLDS[name]))]


@cache
def tasks_of(name: str, template: str, count: int) -> list[Task]:
    drawn = (task_from(WORLDS[name], random.Random(number), template, "train", 0) for number in range(2 * count))
    return [task for task in drawn if isinstance(task, Task)][:count]


def check(name: str, template: str, count: int) -> None:
    for task in tasks_of(name, template, count):
        golden = play(WORLDS[name], task, task.golden_calls)
        assert (outcome(golden), process(golden)) == (1.0, 1.0)
        spoiled = list(mutations(WORLDS[name], task))
        assert {Kind.EFFECT_MISSING, Kind.EFFECT_WRONG} <= {mutation.kind for mutation in spoiled}
        for mutation in spoiled:
            assert mutation.complaint(play(WORLDS[name], task, mutation.calls)) == ""


@pytest.mark.parametrize(("name", "template"), TEMPLATES, ids="-".join)
def test_golden_runs_are_perfect_and_spoiled_ones_are_told(name: str, template: str) -> None:
    check(name, template, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "template"), TEMPLATES, ids="-".join)
def test_many_golden_runs_are_perfect_and_spoiled_ones_are_told(name: str, template: str) -> None:
    check(name, template, 25)


def test_every_kind_of_fault_is_tried() -> None:
    tried = {
        mutation.kind
        for name, template in (("claims", "approve"), ("archive", "near"))
        for task in tasks_of(name, template, 1)
        for mutation in mutations(WORLDS[name], task)
    }
    assert tried == set(Kind)


def test_a_skipped_check_costs_the_procedure_alone_and_a_dropped_read_nothing() -> None:
    [task] = tasks_of("archive", "near", 1)
    for mutation in mutations(WORLDS["archive"], task):
        grades = play(WORLDS["archive"], task, mutation.calls)
        if mutation.kind is Kind.CHECK_SKIPPED:
            assert outcome(grades) == 1.0
        if mutation.kind is Kind.READ_DROPPED:
            assert [score(grades, name) for name in ("outcome", "procedure", "economy")] == [1.0, 1.0, 1.0]


def test_complaints_say_what_was_not_told() -> None:
    [task] = tasks_of("claims", "approve", 1)
    perfect = play(WORLDS["claims"], task, task.golden_calls)
    blank = play(WORLDS["claims"], task, [])
    said = [Mutation(kind, (), "without x").complaint(perfect) for kind in Kind]
    assert said[:2] == ["a run without x earns outcome 1.0: its end state is the right one"] * 2
    assert said[2:] == ["a run without x earns process 1.0: nothing misses it", ""]
    assert "though nothing demands it" in Mutation(Kind.READ_DROPPED, (), "without x").complaint(blank)


def test_calls_are_shown_as_a_person_would_type_them() -> None:
    call = {"name": "note", "arguments": {"id": "C-1", "text": 'two "words"', "count": 3, "empty": ""}}
    assert show_call(call) == 'note id=C-1 text="two \\"words\\"" count=3 empty=""'


PATHS = [("claims", "two_claims"), ("orders", "two_requests"), ("archive", "near")]


@cache
def spoiled_calls(name: str, template: str) -> list[JsonObject]:
    [task] = tasks_of(name, template, 1)
    return [call for mutation in mutations(WORLDS[name], task) for call in mutation.calls]


@pytest.mark.parametrize(("name", "template"), PATHS, ids="-".join)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_the_outcome_is_a_matter_of_the_final_state(name: str, template: str, data: st.DataObject) -> None:
    """Any order of the golden calls, with any others in between, is graded by where it ends."""
    [task] = tasks_of(name, template, 1)
    world = WORLDS[name]
    spoiled = spoiled_calls(name, template)
    calls = data.draw(st.permutations(task.golden_calls), label="order")
    for extra in data.draw(st.lists(st.sampled_from(spoiled), max_size=4), label="others"):
        calls.insert(data.draw(st.integers(0, len(calls))), extra)
    environment = world.factory()
    environment.reset(**reset_arguments(task))
    for call in calls:
        call_tool(environment, ToolCall("1", call["name"], call["arguments"], ""))
    assert outcome(environment.grade()) == float(environment.state() == task.golden_state)


@pytest.mark.parametrize(("name", "template"), PATHS, ids="-".join)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_every_order_of_the_golden_calls_reaches_the_golden_state(
    name: str, template: str, data: st.DataObject
) -> None:
    [task] = tasks_of(name, template, 1)
    calls = data.draw(st.permutations(task.golden_calls), label="order")
    assert outcome(play(WORLDS[name], task, calls)) == 1.0
