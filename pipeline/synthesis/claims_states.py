"""Initial states of the claims desk, one maker a template.

A template fixes which rule of the procedure decides; everything else is drawn. Amounts are made backwards from what is
to be payable, so that each template holds by construction (and `tasks.py` proves it by running the golden calls).
"""

import random
from dataclasses import dataclass

from pipeline.environments.claims.procedure import AUTHORITY, FLAGS, KINDS, REQUIRED
from pipeline.records import JsonObject, Split
from pipeline.synthesis.identity import draw_id

SINGLE = (
    "approve", "approve_at_limit", "policy_lapsed", "not_covered", "waiting_period", "first_document",
    "second_document", "fraud", "authority", "below_deductible", "fraud_but_document_missing",
    "waiting_period_and_fraud",
)  # fmt: skip
TEMPLATES = (*SINGLE, "by_customer", "two_claims")
"""Every template; the last two name a customer instead of a claim, and the last has two claims to decide."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a claim and its policy look like before ids are given."""

    claim: JsonObject
    policy: JsonObject


def make_case(rng: random.Random, template: str) -> Case:
    """Draw a claim with its policy such that rule `template` (one of SINGLE) decides."""
    kind = rng.choice(KINDS)
    others = [each for each in KINDS if each != kind]
    covers = rng.sample(others, rng.randint(1, 2)) + ([] if template == "not_covered" else [kind])
    rng.shuffle(covers)
    amount, deductible, limit = _money(rng, template)
    start, waiting = rng.randrange(10, 200), rng.choice((30, 60, 90))
    early = template in ("waiting_period", "waiting_period_and_fraud")
    day = start + (rng.randrange(0, waiting) if early else rng.randrange(waiting, waiting + 200))
    claim = {
        "kind": kind, "day": day, "amount": amount, "status": "open",
        "documents": _documents(rng, template, kind), "flags": _flags(rng, template),
    }  # fmt: skip
    policy = {
        "status": "lapsed" if template == "policy_lapsed" else "active", "covers": covers,
        "deductible": deductible, "limit": limit, "start_day": start, "waiting_days": waiting,
    }  # fmt: skip
    return Case(claim, policy)


def make_state(rng: random.Random, template: str, split: Split) -> tuple[JsonObject, JsonObject]:
    """Tables of one task and what its question may name: `{"claim_id"}` or `{"customer_id"}`; plus `{"rules"}`."""
    count = 2 if template == "two_claims" else 1
    rules = [template] if template in SINGLE else [rng.choice(SINGLE) for _ in range(count)]
    state: JsonObject = {"claims": {}, "policies": {}, "customers": {}}
    own = [_add(state, rng, make_case(rng, rule), split) for rule in rules]
    customer = draw_id(rng, "K", split)
    state["customers"][customer] = {"claims": own}
    bystander = _add(state, rng, make_case(rng, rng.choice(SINGLE)), split)
    state["customers"].setdefault(draw_id(rng, "K", split), {"claims": [bystander]})
    subject = {"claim_id": own[0]} if template in SINGLE else {"customer_id": customer}
    return state, {"subject": subject, "claims": own, "rules": rules}


def _add(state: JsonObject, rng: random.Random, case: Case, split: Split) -> str:
    claim_id = _fresh(state["claims"], rng, "C", split)
    policy_id = _fresh(state["policies"], rng, "P", split)
    state["claims"][claim_id] = {**case.claim, "policy": policy_id}
    state["policies"][policy_id] = case.policy
    return claim_id


def _fresh(table: JsonObject, rng: random.Random, prefix: str, split: Split) -> str:
    while (key := draw_id(rng, prefix, split)) in table:
        continue
    return key


def _money(rng: random.Random, template: str) -> tuple[int, int, int]:
    """Claimed amount, deductible and limit in whole euros."""
    deductible = rng.choice((0, 100, 200, 300, 500))
    if template == "below_deductible":
        deductible = rng.choice((200, 300, 500))
        return rng.randrange(50, deductible + 1), deductible, rng.choice((3000, 4000, 8000))
    if template == "authority":
        return rng.randrange(AUTHORITY + 1, 9000) + deductible, deductible, 9500
    if template == "approve_at_limit":
        limit = rng.choice((1000, 2000, 3000, 4000))
        return limit + deductible + rng.randrange(1, 900), deductible, limit
    return rng.randrange(150, 3000) + deductible, deductible, rng.choice((3000, 4000, 8000))


def _documents(rng: random.Random, template: str, kind: str) -> list[str]:
    first, second = REQUIRED[kind]
    if template in ("first_document", "fraud_but_document_missing"):
        return [second]
    if template == "second_document":
        return [first]
    files = [first, second]
    rng.shuffle(files)
    return files


def _flags(rng: random.Random, template: str) -> list[str]:
    return [rng.choice(FLAGS)] if "fraud" in template else []
