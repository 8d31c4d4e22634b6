"""Tasks: state, question, golden calls, and the golden state that running them reaches.

Each task draws from its own seed, so task i of a split is the same whatever else is made and by however many workers.
"""

import copy
import hashlib
import random
from collections.abc import Iterator
from dataclasses import replace

from pipeline.environments import Environment
from pipeline.environments.claims.procedure import judge
from pipeline.environments.tools import call_tool, reset_arguments
from pipeline.environments.worlds import World
from pipeline.errors import InputError
from pipeline.graders.reward import outcome, process
from pipeline.records import JsonObject, Split, Task, ToolCall
from pipeline.synthesis.claims_states import TEMPLATES, make_state
from pipeline.tables import dumps

_BY_CLAIM = (
    "Please settle claim {claim_id}.", "What shall we do with claim {claim_id}?", "Claim {claim_id} is on your desk.",
    "Decide claim {claim_id}.", "A customer asks about claim {claim_id}. Work it through.",
    "Handle {claim_id} please.",
)  # fmt: skip
_BY_CUSTOMER = (
    "Please settle what customer {customer_id} has open.", "Customer {customer_id} is waiting for a decision.",
    "Work through the claims of customer {customer_id}.", "What is open for {customer_id}? Decide it.",
)  # fmt: skip


def make_task(world: World, seed: int, split: Split, index: int) -> Task:
    """Task number `index` of a split; templates take turns."""
    rng = random.Random(f"task-{seed}-{split}-{index}")
    return task_from(world, rng, TEMPLATES[index % len(TEMPLATES)], split, seed)


def task_from(world: World, rng: random.Random, template: str, split: Split, seed: int) -> Task:
    """Draw one task of `template`; its golden run is executed and must earn outcome 1 and process 1."""
    state, facts = make_state(rng, template, split)
    phrases = _BY_CLAIM if "claim_id" in facts["subject"] else _BY_CUSTOMER
    question = rng.choice(phrases).format(**facts["subject"])
    calls = golden_calls(state, facts["subject"], facts["claims"])
    knobs = {"rules": facts["rules"], "calls": len(calls)}
    identity = hashlib.sha256(dumps([world.name, template, question, state]).encode()).hexdigest()[:16]
    draft = Task(identity, world.name, template, split, seed, question, state, state, calls, knobs)
    return _proved(world, draft)


def golden_calls(state: JsonObject, subject: JsonObject, claims: list[str]) -> tuple[JsonObject, ...]:
    """The calls of a perfect run, in the order of the procedure."""
    calls: list[JsonObject] = []
    if "customer_id" in subject:
        calls.append({"name": "find_claims", "arguments": subject})
    for claim_id in claims:
        verdict = judge(state, claim_id)
        calls += [{"name": call.tool, "arguments": call.arguments} for call in (*verdict.checks, verdict.decision)]
    return tuple(calls)


def unique_tasks(world: World, seed: int, split: Split, count: int) -> Iterator[Task]:
    """`count` tasks of a split without repeated ids."""
    seen: set[str] = set()
    index = 0
    while len(seen) < count:
        task = make_task(world, seed, split, index)
        index += 1
        if task.task_id not in seen:
            seen.add(task.task_id)
            yield task


def _proved(world: World, draft: Task) -> Task:
    environment = play_golden(world, draft)
    task = replace(draft, golden_state=copy.deepcopy(environment.state()))
    grades = play_golden(world, task).grade()
    if outcome(grades) != 1.0 or process(grades) != 1.0:
        raise InputError(f"template {task.template}: the golden run of task {task.task_id} earns {grades}")
    return task


def play_golden(world: World, task: Task) -> Environment:
    """Run a task's golden calls in a fresh environment. Raises InputError when a call is refused."""
    environment = world.factory()
    environment.reset(**reset_arguments(task))
    for number, call in enumerate(task.golden_calls):
        raw = dumps(call["arguments"])
        answer = call_tool(environment, ToolCall(str(number), call["name"], call["arguments"], raw))
        if answer.error:
            raise InputError(f"template {task.template}: golden call {raw} is refused: {answer.content}")
    return environment
