"""The claims desk: what its tools do, what its grades say."""

import copy

import pytest
from transformers.utils import get_json_schema

from pipeline.environments import Environment
from pipeline.environments.declared import DeclaredEnvironment
from pipeline.environments.tools import EnvironmentFault, call_tool, reset_arguments, tool_schemas
from pipeline.graders.reward import score
from pipeline.records import Task, ToolCall
from pipeline.synthesis.tasks import play_golden, unique_tasks
from pipeline.tables import dumps
from tests.worlds import CLAIMS

TASKS = list(unique_tasks(CLAIMS, seed=3, split="train", count=28))


def run(task: Task, calls: list[dict[str, object]]) -> DeclaredEnvironment:
    environment = CLAIMS.factory()
    assert isinstance(environment, DeclaredEnvironment)
    environment.reset(**reset_arguments(task))
    for call in calls:
        arguments = call["arguments"]
        assert isinstance(arguments, dict)
        call_tool(environment, ToolCall("1", str(call["name"]), arguments, dumps(arguments)))
    return environment


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.template)
def test_the_golden_run_earns_everything(task: Task) -> None:
    grades = play_golden(CLAIMS, task).grade()
    assert [(grade.name, grade.score) for grade in grades] == [("outcome", 1.0), ("procedure", 1.0), ("economy", 1.0)]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.template)
def test_no_decision_is_outcome_zero(task: Task) -> None:
    decisions = {"approve", "deny", "request_document", "escalate"}
    calls = [call for call in task.golden_calls if call["name"] not in decisions]
    assert score(run(task, calls).grade(), "outcome") == 0.0


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.template)
def test_each_skipped_check_lowers_the_procedure_grade_alone(task: Task) -> None:
    decisions = {"approve", "deny", "request_document", "escalate"}
    for index, call in enumerate(task.golden_calls):
        if call["name"] in decisions:
            continue
        grades = run(task, [*task.golden_calls[:index], *task.golden_calls[index + 1 :]]).grade()
        assert score(grades, "outcome") == 1.0
        procedure = score(grades, "procedure")
        assert procedure is not None
        assert procedure < 1.0


def test_a_check_after_the_decision_does_not_count() -> None:
    task = next(task for task in TASKS if task.template == "fraud")
    late = [*[call for call in task.golden_calls if call["name"] != "check_fraud"], task.golden_calls[4]]
    assert late[-1]["name"] == "check_fraud"
    procedure = score(run(task, late).grade(), "procedure")
    assert procedure is not None
    assert procedure < 1.0


def test_repeated_and_refused_calls_cost_economy_only() -> None:
    task = TASKS[0]
    first = task.golden_calls[0]
    grades = run(task, [first, *task.golden_calls, {"name": "no_such_tool", "arguments": {}}]).grade()
    assert score(grades, "outcome") == 1.0
    assert score(grades, "procedure") == 1.0
    assert score(grades, "economy") == pytest.approx(len(task.golden_calls) / (len(task.golden_calls) + 2))


def test_reset_leaves_nothing_behind() -> None:
    task = TASKS[0]
    environment = run(task, list(task.golden_calls))
    untouched = copy.deepcopy(task.initial_state)
    environment.reset(**reset_arguments(task))
    assert environment.state() == untouched == task.initial_state
    assert score(environment.grade(), "outcome") == 0.0


def test_a_claim_is_decided_once() -> None:
    task = TASKS[0]
    claim = task.golden_calls[-1]["arguments"]["claim_id"]
    environment = run(task, list(task.golden_calls))
    answer = call_tool(environment, ToolCall("1", "deny", {"claim_id": claim, "reason": "not_covered"}, ""))
    assert answer.error
    assert answer.content == f"error: {claim} is already decided"
    assert score(environment.grade(), "outcome") == 1.0


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("get_claim", {"claim_id": "C-0"}, "not found: C-0"),
        ("get_claim", {"claim": "C-0"}, "bad arguments: 'claim_id' is a required property"),
        ("approve", {"claim_id": "C-0", "amount": "12"}, "bad arguments: '12' is not of type 'integer'"),
        ("deny", {"claim_id": "C-0", "reason": "because"}, "bad arguments: 'because' is not one of"),
        ("reset", {}, "no such tool: reset"),
        ("_state", {}, "no such tool: _state"),
        ("check_documents", {"claim_id": 7}, "bad arguments: 7 is not of type 'string'"),
    ],
)
def test_a_bad_call_goes_back_to_the_agent(name: str, arguments: dict[str, object], text: str) -> None:
    environment = run(TASKS[0], [])
    answer = call_tool(environment, ToolCall("1", name, arguments, dumps(arguments)))
    assert answer.error
    assert text in answer.content


def test_unreadable_arguments_are_not_replaced() -> None:
    environment = run(TASKS[0], [])
    answer = call_tool(environment, ToolCall("1", "get_claim", None, '{"claim', "unexpected end"))
    assert answer.error
    assert answer.content == "error: unreadable arguments: unexpected end"
    assert environment.refused == 1


class Breaking(Environment):
    """Its one tool fails like a broken back end."""

    def look(self) -> str:
        """Look.

        Returns:
            Nothing.
        """
        raise KeyError("connection lost")


def test_any_other_exception_is_the_environments_fault() -> None:
    with pytest.raises(EnvironmentFault, match="look: KeyError: 'connection lost'"):
        call_tool(Breaking(), ToolCall("1", "look", {}, "{}"))


def test_schemas_are_those_that_plain_trl_makes() -> None:
    schemas = {schema["function"]["name"]: schema for schema in tool_schemas(CLAIMS.factory)}
    plain = get_json_schema(CLAIMS.factory()._tool("approve"))
    plain["function"].pop("return", None)
    assert schemas["approve"] == plain
    assert set(schemas).isdisjoint({"reset", "get_reward", "grade", "state"})
