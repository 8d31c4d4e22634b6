"""Choose what is imitated: ask each candidate the questions of `Reason`, the cheap ones first."""

import hashlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.curation.candidates import Candidate
from pipeline.curation.heldout import HeldOut
from pipeline.curation.reasons import Reason
from pipeline.curation.shape import fault
from pipeline.errors import MaskError, ModelError
from pipeline.params import CurateParams
from pipeline.records import JsonObject, Message, TraceStatus

Encode = Callable[[Sequence[Message], Sequence[JsonObject]], tuple[list[int], list[int]]]
"""Token ids of a conversation with its tools, and the mask of the agent's own; raises MaskError or ModelError."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one candidate; tokens are None where nothing had to be encoded."""

    reason: Reason
    tokens: int | None = None
    agent_tokens: int | None = None
    detail: str | None = None


class Chooser:
    """Judges candidates one after the other; remembers a digest of each row, to thin exact duplicates."""

    def __init__(self, params: CurateParams, own_harnesses: frozenset[str], held_out: HeldOut, encode: Encode) -> None:
        self._params = params
        self._own_harnesses = own_harnesses
        self._held_out = held_out
        self._encode = encode
        self._seen: set[bytes] = set()

    def judge(self, candidate: Candidate) -> Verdict:
        """The first reason against `candidate`, or KEPT."""
        reason = self._against_run(candidate) or fault(candidate.messages)
        return Verdict(reason) if reason is not None else self._encoded(candidate)

    def _against_run(self, candidate: Candidate) -> Reason | None:
        params = self._params
        if candidate.origin not in params.sources:
            return Reason.NOT_A_SOURCE
        if params.harness == "same" and candidate.harness_hash not in self._own_harnesses:
            return Reason.OTHER_HARNESS
        if candidate.status is TraceStatus.ERROR:
            return Reason.ERROR_STATUS
        if candidate.outcome is None:
            return Reason.NO_REWARD
        if candidate.outcome < params.min_outcome:
            return Reason.FAILED
        return Reason.HELD_OUT if self._held_out.touches(candidate) else None

    def _encoded(self, candidate: Candidate) -> Verdict:
        try:
            ids, mask = self._encode(candidate.messages, candidate.tools)
        except (MaskError, ModelError) as error:
            return Verdict(Reason.NOT_RENDERABLE, detail=str(error))
        if len(ids) > self._params.max_tokens:
            return Verdict(Reason.TOO_LONG, len(ids), sum(mask))
        digest = hashlib.sha256(array("q", ids).tobytes() + bytes(mask)).digest()
        reason = Reason.DUPLICATE if digest in self._seen else Reason.KEPT
        self._seen.add(digest)
        return Verdict(reason, len(ids), sum(mask))
