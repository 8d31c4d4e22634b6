"""What the traces mean beyond their number: scores seen, which is the reward, what arrived later, other tools."""

import difflib
from collections import Counter
from typing import Any

from pipeline.ingest_params import IngestParams
from pipeline.records import Quarantined, TraceStatus
from pipeline.rows import Row
from pipeline.tables import loads
from pipeline.traces.harness_log import HarnessLog, said
from pipeline.traces.joined_scores import Later, keys_of_row

SHOWN = 12
"""Names in one remark, the most frequent first; metrics/ingest.json has them all."""


class Account:
    """Counts that grow as rows pass by, and remarks for people."""

    def __init__(self, params: IngestParams, later: Later, faults: list[Quarantined]) -> None:
        self._rule, self._later, self._private = params.reward, later, params.privacy.enabled
        self._faults = Counter(row.reason for row in faults)
        self._met: set[str] = set()
        self._scores: Counter[str] = Counter()
        self._replaced: Counter[str] = Counter()
        self._rewards: list[float] = [0.0, float("inf"), float("-inf")]
        self._known = self._unnamed = 0
        self._harnesses = HarnessLog()

    def add(self, row: Row) -> None:
        """Count one row of the table."""
        scores = loads(row["scores"]) if row["scores"] != "{}" else {}
        self._scores.update(scores.keys())
        if (reward := row["reward"]) is not None:
            self._known += 1
            self._rewards = [self._rewards[0] + reward, min(self._rewards[1], reward), max(self._rewards[2], reward)]
        elif scores and self._rule is None and row["status"] != TraceStatus.ERROR:
            self._unnamed += 1
        if self._later.by_key:
            self._met.update(key for key in keys_of_row(row) if key in self._later.by_key)
        self._harnesses.add(row)
        if self._private:
            self._replaced.update(loads(row["metadata"]).get("replaced", {}))

    def unmatched(self) -> list[Quarantined]:
        """A quarantine row for each later score that found no trace; call it once, after all rows."""
        found = list(self._later.unmatched(self._met))
        self._faults.update(row.reason for row in found)
        return found

    def as_json(self) -> dict[str, Any]:
        """Further content of metrics/ingest.json."""
        total, low, high = self._rewards
        rule, known = self._rule, self._known
        return {
            "reward": {
                "name": rule and rule.name, "higher_is_better": rule and rule.higher_is_better,
                "mean": total / known if known else None, "low": low if known else None,
                "high": high if known else None,
            },
            "scores": dict(sorted(self._scores.items())),
            "later_scores": {"joined": self._joined(), "quarantined_by_reason": dict(sorted(self._faults.items()))},
            "replaced": dict(sorted(self._replaced.items())),
            "harness_changes": self._harnesses.as_json(),
            "remarks": self.remarks(),
        }  # fmt: skip

    def remarks(self) -> list[str]:
        """What the user should know or decide."""
        changes = [line for entry in self._harnesses.as_json() if (line := said(entry))]
        return [_plain(remark) for remark in (*self._about_reward(), *self._about_later(), *changes)]

    def _about_reward(self) -> list[str]:
        seen = ", ".join(f"{name} {count}" for name, count in self._scores.most_common(SHOWN)) or "none"
        if self._unnamed:
            return [f"{self._unnamed} traces carry scores but no reward; name one in ingest.reward; seen: {seen}"]
        if self._rule is not None and not self._scores[self._rule.name]:
            close = difflib.get_close_matches(self._rule.name, self._scores, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            return [f"no trace carries the score {self._rule.name!r} of ingest.reward{hint}; seen: {seen}"]
        return []

    def _about_later(self) -> list[str]:
        lost = self._faults.total()
        return [f"{self._joined()} later scores found their trace, {lost} did not or could not be read"] if lost else []

    def _joined(self) -> int:
        return sum(len(self._later.by_key[key]) for key in self._met)


def _plain(text: str) -> str:
    """Names are another's text: nothing in them reaches a terminal as a control code."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
