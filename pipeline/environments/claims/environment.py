"""The claims desk: look a claim up, check it by the procedure, decide.

State: tables `claims`, `policies` and `customers`, keyed by id. The decision tools change a claim's status and nothing
else; every other tool only reads.
"""

import copy
from typing import Any, Literal

from pipeline.environments.base import Environment
from pipeline.environments.claims import procedure
from pipeline.errors import ToolError
from pipeline.graders.state import grade_state
from pipeline.graders.tool_calls import CallKey, Demand, grade_economy, grade_procedure
from pipeline.records import Grade, JsonObject
from pipeline.tables import dumps

DenyReason = Literal["policy_lapsed", "not_covered", "waiting_period", "below_deductible"]
EscalateReason = Literal["fraud", "authority"]


class ClaimsEnvironment(Environment):
    """Insurance claims with a procedure; see `procedure.TEXT` for the rules in words."""

    procedure = procedure.TEXT
    instant = True

    def reset(self, **task: Any) -> str | None:
        """Load `initial_state`, `golden_state` and `golden_calls` of a task; other keys are ignored."""
        self._tables: JsonObject = copy.deepcopy(task["initial_state"])
        self._golden: JsonObject = task["golden_state"]
        self._needed = len(task["golden_calls"])
        self._demands = _demands(task["initial_state"], task["golden_state"], task["golden_calls"])
        self._calls: list[CallKey] = []
        self.refused = 0
        self._decisions: dict[str, int] = {}
        return None

    def find_claims(self, customer_id: str) -> str:
        """List a customer's open claims.

        Args:
            customer_id: Customer number.

        Returns:
            The claim numbers.
        """
        customer = self._find("customers", customer_id)
        self._note("find_claims", customer_id=customer_id)
        return ", ".join(customer["claims"])

    def get_claim(self, claim_id: str) -> str:
        """Read a claim.

        Args:
            claim_id: Claim number.

        Returns:
            Policy, kind of loss and claimed amount.
        """
        claim = self._find("claims", claim_id)
        self._note("get_claim", claim_id=claim_id)
        return f"policy {claim['policy']}, {claim['kind']} loss, claimed {claim['amount']}"

    def get_policy(self, policy_id: str) -> str:
        """Read a policy.

        Args:
            policy_id: Policy number.

        Returns:
            Status, and each kind of loss, covered or excluded.
        """
        policy = self._find("policies", policy_id)
        self._note("get_policy", policy_id=policy_id)
        losses = (f"{kind} {'covered' if kind in policy['covers'] else 'excluded'}" for kind in procedure.KINDS)
        return f"{policy['status']}, {', '.join(losses)}"

    def check_waiting(self, claim_id: str) -> str:
        """Check whether the loss fell into the waiting period.

        Args:
            claim_id: Claim number.

        Returns:
            Whether the waiting period was over.
        """
        claim = self._find("claims", claim_id)
        self._note("check_waiting", claim_id=claim_id)
        within = procedure.within_waiting(claim, self._tables["policies"][claim["policy"]])
        return "within waiting period" if within else "waiting period over"

    def check_documents(self, claim_id: str) -> str:
        """Check the documents that the kind of loss requires.

        Args:
            claim_id: Claim number.

        Returns:
            Each required document, on file or missing.
        """
        claim = self._find("claims", claim_id)
        self._note("check_documents", claim_id=claim_id)
        on_file = set(claim["documents"])
        required = procedure.REQUIRED[claim["kind"]]
        return ", ".join(f"{name} {'on file' if name in on_file else 'missing'}" for name in required)

    def check_fraud(self, claim_id: str) -> str:
        """Check a claim for fraud flags.

        Args:
            claim_id: Claim number.

        Returns:
            The flags, or that there are none.
        """
        claim = self._find("claims", claim_id)
        self._note("check_fraud", claim_id=claim_id)
        return ", ".join(claim["flags"]) or "no flags"

    def compute_payout(self, claim_id: str) -> str:
        """Compute the payable amount after deductible and limit.

        Args:
            claim_id: Claim number.

        Returns:
            Payable amount, and whether it is within the clerk's authority.
        """
        claim = self._find("claims", claim_id)
        self._note("compute_payout", claim_id=claim_id)
        amount = procedure.payable(claim, self._tables["policies"][claim["policy"]])
        return f"payable {amount}, {'above' if amount > procedure.AUTHORITY else 'within'} authority"

    def approve(self, claim_id: str, amount: int) -> str:
        """Approve a claim.

        Args:
            claim_id: Claim number.
            amount: Amount to pay.

        Returns:
            Confirmation.
        """
        if isinstance(amount, bool) or not isinstance(amount, int):
            raise ToolError("amount must be a whole number")
        return self._decide("approve", claim_id, {"status": "approved", "paid": amount}, amount=amount)

    def deny(self, claim_id: str, reason: DenyReason) -> str:
        """Deny a claim.

        Args:
            claim_id: Claim number.
            reason: Why.

        Returns:
            Confirmation.
        """
        return self._decide("deny", claim_id, {"status": "denied", "reason": reason}, reason=reason)

    def request_document(self, claim_id: str, document: str) -> str:
        """Ask the customer for a document.

        Args:
            claim_id: Claim number.
            document: Document name.

        Returns:
            Confirmation.
        """
        return self._decide(
            "request_document", claim_id, {"status": "waiting", "requested": document}, document=document
        )

    def escalate(self, claim_id: str, reason: EscalateReason) -> str:
        """Hand a claim to a senior clerk.

        Args:
            claim_id: Claim number.
            reason: Why.

        Returns:
            Confirmation.
        """
        return self._decide("escalate", claim_id, {"status": "escalated", "reason": reason}, reason=reason)

    def _find(self, table: str, key: str) -> JsonObject:
        rows: dict[str, JsonObject] = self._tables[table]
        if key not in rows:
            self.refused += 1
            raise ToolError(f"not found: {key}")
        return rows[key]

    def _note(self, tool: str, **arguments: Any) -> None:
        self._calls.append((tool, dumps(arguments)))

    def _decide(self, tool: str, claim_id: str, change: JsonObject, **arguments: Any) -> str:
        claim = self._find("claims", claim_id)
        if claim["status"] != "open":
            self.refused += 1
            raise ToolError(f"{claim_id} is already decided")
        self._decisions[claim_id] = len(self._calls)
        self._note(tool, claim_id=claim_id, **arguments)
        claim.update(change)
        return "done"

    def _state(self) -> JsonObject:
        return self._tables

    def _grade(self) -> tuple[Grade, ...]:
        return (
            grade_state(self._tables, self._golden),
            grade_procedure(self._calls, self._demands, self._decisions),
            grade_economy(len(self._calls) + self.refused, self._needed),
        )


def _demands(initial: JsonObject, golden: JsonObject, calls: list[JsonObject]) -> tuple[Demand, ...]:
    decided = [key for key, claim in initial["claims"].items() if golden["claims"][key] != claim]
    demands = []
    for claim_id in sorted(decided):
        checks = procedure.judge(initial, claim_id).checks
        demands.append(Demand(claim_id, frozenset((call.tool, dumps(call.arguments)) for call in checks)))
    lookups = frozenset((call["name"], dumps(call["arguments"])) for call in calls if call["name"] == "find_claims")
    return (*demands, *((Demand("", lookups),) if lookups else ()))
