"""The claims procedure as code: from a state to the demanded checks and the right decision.

One source for the golden runs, for the process grade and for the scripted agents, so that they cannot disagree.
"""

from dataclasses import dataclass

from pipeline.records import JsonObject

KINDS = ("water", "fire", "theft", "storm")
REQUIRED = {
    "water": ("photos", "plumber_report"),
    "fire": ("photos", "fire_report"),
    "theft": ("receipt", "police_report"),
    "storm": ("photos", "weather_report"),
}
"""Documents that each kind of loss needs, in the order in which they are asked for."""
FLAGS = ("duplicate_invoice", "altered_document", "repeat_claimant")
AUTHORITY = 5000
"""Highest amount that a clerk may approve alone."""

TEXT = (
    "You are a claims clerk. Work through the checks in this order and stop at the first that decides. 1 Read the"
    " claim and its policy: a lapsed policy is denied as policy_lapsed, a loss that the policy does not cover as "
    "not_covered. 2 A claim within the waiting period is denied as waiting_period. 3 Check the documents that the"
    " kind of loss requires: request the first one missing. 4 A fraud flag is escalated as fraud. 5 Compute the "
    "payout: nothing payable is denied as below_deductible, an amount above your authority is escalated as "
    "authority, else approve exactly the payable amount. Make no call twice. When each claim is decided, say so."
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as data: name and arguments."""

    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the procedure says about one claim: the checks it demands, in order, then the decision."""

    checks: tuple[Call, ...]
    decision: Call


def payable(claim: JsonObject, policy: JsonObject) -> int:
    """Amount due in whole euros: claimed less the deductible, at most the policy's limit, never below 0."""
    return max(0, min(int(claim["amount"]) - int(policy["deductible"]), int(policy["limit"])))


def within_waiting(claim: JsonObject, policy: JsonObject) -> bool:
    """Whether the loss fell into the waiting period (days counted from the policy's start)."""
    return int(claim["day"]) < int(policy["start_day"]) + int(policy["waiting_days"])


def missing_document(claim: JsonObject) -> str | None:
    """The first required document that is not on file."""
    return next((name for name in REQUIRED[claim["kind"]] if name not in claim["documents"]), None)


def judge(state: JsonObject, claim_id: str) -> Verdict:
    """Apply the procedure to one claim of `state`."""
    claim = state["claims"][claim_id]
    policy = state["policies"][claim["policy"]]
    about = {"claim_id": claim_id}
    checks = [Call("get_claim", about), Call("get_policy", {"policy_id": claim["policy"]})]
    if policy["status"] == "lapsed":
        return _deny(checks, claim_id, "policy_lapsed")
    if claim["kind"] not in policy["covers"]:
        return _deny(checks, claim_id, "not_covered")
    checks.append(Call("check_waiting", about))
    if within_waiting(claim, policy):
        return _deny(checks, claim_id, "waiting_period")
    checks.append(Call("check_documents", about))
    document = missing_document(claim)
    if document is not None:
        return Verdict(tuple(checks), Call("request_document", about | {"document": document}))
    checks.append(Call("check_fraud", about))
    if claim["flags"]:
        return Verdict(tuple(checks), Call("escalate", about | {"reason": "fraud"}))
    checks.append(Call("compute_payout", about))
    return _settle(checks, claim_id, payable(claim, policy))


def _settle(checks: list[Call], claim_id: str, amount: int) -> Verdict:
    if amount == 0:
        return _deny(checks, claim_id, "below_deductible")
    about = {"claim_id": claim_id}
    if amount > AUTHORITY:
        return Verdict(tuple(checks), Call("escalate", about | {"reason": "authority"}))
    return Verdict(tuple(checks), Call("approve", about | {"amount": amount}))


def _deny(checks: list[Call], claim_id: str, reason: str) -> Verdict:
    return Verdict(tuple(checks), Call("deny", {"claim_id": claim_id, "reason": reason}))
