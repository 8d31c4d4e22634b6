"""A scripted claims clerk of uneven skill: the procedure, minus habits.

Habits, not only noise: a run's clerk may never look at a given check, overlook the second document, pay what was
claimed instead of what is due, or approve above the authority. A habit often does no harm, since most claims pass the
check that was skipped; so many successful runs were made the wrong way, as in real life.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import orjson

from pipeline.environments import Environment
from pipeline.environments.claims.procedure import REQUIRED, Call, missing_document, payable, within_waiting
from pipeline.environments.tools import call_tool, reset_arguments
from pipeline.environments.worlds import World
from pipeline.records import Grade, Message, Task, ToolCall

HABITS = (
    "skip_policy", "skip_waiting", "skip_documents", "skip_fraud", "overlook_second_document", "pay_claimed_amount",
    "ignore_authority", "reread_claim",
)  # fmt: skip
_DECIDED = {"approve": "approved", "deny": "denied", "request_document": "document requested", "escalate": "escalated"}


def draw_habits(rng: random.Random, probability: float) -> frozenset[str]:
    """The habits of one clerk, each with the same probability."""
    return frozenset(habit for habit in HABITS if rng.random() < probability)


@dataclass(slots=True)
class _Clerk:
    """One run: the environment, and the conversation as it grows."""

    environment: Environment
    habits: frozenset[str]
    messages: list[Message]
    decisions: list[str] = field(default_factory=list)

    def call(self, tool: str, **arguments: object) -> str:
        """Make one call in a turn of its own and return the answer."""
        identity = f"call_{len(self.messages)}"
        call = ToolCall(identity, tool, dict(arguments), orjson.dumps(arguments).decode())
        answer = call_tool(self.environment, call)
        self.messages.append(Message("assistant", None, (call,)))
        self.messages.append(Message("tool", answer.content, tool_call_id=identity, name=tool))
        return answer.content

    def has(self, habit: str) -> bool:
        """Whether this clerk has a habit."""
        return habit in self.habits


def run_scripted(
    world: World, task: Task, habits: frozenset[str], rng: random.Random, slip: float = 0.0
) -> tuple[tuple[Message, ...], tuple[Grade, ...]]:
    """Work on a task; `slip` is the probability of a mistyped number and, apart, of a careless decision a claim."""
    environment = world.factory()
    environment.reset(**reset_arguments(task))
    opening = [Message("system", world.procedure), Message("user", task.question)]
    clerk = _Clerk(environment, habits, opening)
    first = task.golden_calls[0]
    if first["name"] == "find_claims":
        claims = clerk.call("find_claims", **first["arguments"]).split(", ")
    else:
        claims = [first["arguments"]["claim_id"]]
    for claim_id in claims:
        _work(clerk, claim_id, rng, slip)
    clerk.messages.append(Message("assistant", f"Decided: {', '.join(clerk.decisions)}."))
    return tuple(clerk.messages), environment.grade()


def _work(clerk: _Clerk, claim_id: str, rng: random.Random, slip: float) -> None:
    if rng.random() < slip:
        clerk.call("get_claim", claim_id=f"C-{rng.randrange(1000, 10000)}")
    clerk.call("get_claim", claim_id=claim_id)
    decision = next(found for step in _STEPS if (found := step(clerk, claim_id)) is not None)
    if clerk.has("reread_claim"):
        clerk.call("get_claim", claim_id=claim_id)
    if rng.random() < slip:
        decision = Call("escalate", {"claim_id": claim_id, "reason": "fraud"})
    clerk.call(decision.tool, **decision.arguments)
    clerk.decisions.append(_DECIDED[decision.tool])


def _policy(clerk: _Clerk, claim_id: str) -> Call | None:
    if clerk.has("skip_policy"):
        return None
    tables = clerk.environment.state()
    claim = tables["claims"][claim_id]
    clerk.call("get_policy", policy_id=claim["policy"])
    policy = tables["policies"][claim["policy"]]
    if policy["status"] == "lapsed":
        return Call("deny", {"claim_id": claim_id, "reason": "policy_lapsed"})
    if claim["kind"] not in policy["covers"]:
        return Call("deny", {"claim_id": claim_id, "reason": "not_covered"})
    return None


def _waiting(clerk: _Clerk, claim_id: str) -> Call | None:
    if clerk.has("skip_waiting"):
        return None
    clerk.call("check_waiting", claim_id=claim_id)
    tables = clerk.environment.state()
    claim = tables["claims"][claim_id]
    within = within_waiting(claim, tables["policies"][claim["policy"]])
    return Call("deny", {"claim_id": claim_id, "reason": "waiting_period"}) if within else None


def _documents(clerk: _Clerk, claim_id: str) -> Call | None:
    if clerk.has("skip_documents"):
        return None
    claim = clerk.environment.state()["claims"][claim_id]
    clerk.call("check_documents", claim_id=claim_id)
    document = missing_document(claim)
    if document is None or (clerk.has("overlook_second_document") and document == REQUIRED[claim["kind"]][1]):
        return None
    return Call("request_document", {"claim_id": claim_id, "document": document})


def _fraud(clerk: _Clerk, claim_id: str) -> Call | None:
    if clerk.has("skip_fraud"):
        return None
    clerk.call("check_fraud", claim_id=claim_id)
    flagged = bool(clerk.environment.state()["claims"][claim_id]["flags"])
    return Call("escalate", {"claim_id": claim_id, "reason": "fraud"}) if flagged else None


def _payout(clerk: _Clerk, claim_id: str) -> Call | None:
    tables = clerk.environment.state()
    claim = tables["claims"][claim_id]
    if clerk.has("pay_claimed_amount"):
        return Call("approve", {"claim_id": claim_id, "amount": claim["amount"]})
    answer = clerk.call("compute_payout", claim_id=claim_id)
    amount = payable(claim, tables["policies"][claim["policy"]])
    if amount == 0:
        return Call("deny", {"claim_id": claim_id, "reason": "below_deductible"})
    if answer.endswith("above authority") and not clerk.has("ignore_authority"):
        return Call("escalate", {"claim_id": claim_id, "reason": "authority"})
    return Call("approve", {"claim_id": claim_id, "amount": amount})


_STEPS: tuple[Callable[[_Clerk, str], Call | None], ...] = (_policy, _waiting, _documents, _fraud, _payout)
"""The checks in the procedure's order; each returns the decision it leads to, or None to go on."""
