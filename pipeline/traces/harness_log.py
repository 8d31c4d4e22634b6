"""Tools that change over time: which were added, removed or changed between the harnesses of one folder of traces."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pipeline.harness_hash import NO_TOOLS, harness_hash
from pipeline.rows import Row
from pipeline.tables import loads

MOST = 20
"""Harnesses of one folder that are compared; where each trace has tools of its own, nothing changes over time."""
SHOWN = 12
"""Tools named in one sentence; metrics/ingest.json has them all."""


@dataclass(slots=True)
class _Harness:
    first: str
    tools: dict[str, str]
    """Name of a tool to the hash of its schema."""
    since: float | None
    traces: int = 0


class HarnessLog:
    """Sees the rows of all traces, in order."""

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, _Harness]] = {}

    def add(self, row: Row) -> None:
        """Note the harness of one trace. A trace whose tools are not recorded says nothing."""
        key = row["harness_hash"]
        if key == NO_TOOLS:
            return
        known = self._folders.setdefault(row["source"].rpartition("/")[0] or ".", {})
        found = known.get(key)
        if found is None:
            tools = _hashes(row["tools"]) if len(known) < MOST else {}
            found = known[key] = _Harness(f"{row['source']}:{row['line']}", tools, row["started_at"])
        found.traces += 1
        if row["started_at"] is not None:
            found.since = row["started_at"] if found.since is None else min(found.since, row["started_at"])

    def as_json(self) -> list[dict[str, Any]]:
        """An entry for each harness of each folder that has several: by time where all traces tell it, else as read."""
        several = {folder: known for folder, known in sorted(self._folders.items()) if len(known) > 1}
        return [entry for folder, known in several.items() for entry in _entries(folder, known)]


def said(entry: dict[str, Any]) -> str:
    """One entry as a sentence; empty for the first harness of a folder."""
    if "harnesses" in entry:
        return f"{entry['folder']}: {entry['harnesses']} different sets of tools; they are not compared"
    parts = [f"{what} {_first(entry[what])}" for what in ("added", "removed", "changed") if entry.get(what)]
    since = f" ({entry['since']})" if entry["since"] else ""
    return f"{entry['folder']}: other tools from {entry['first']}{since} on: {'; '.join(parts)}" if parts else ""


def _first(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _hashes(text: str) -> dict[str, str]:
    return {tool["function"]["name"]: harness_hash([tool]) for tool in loads(text)}


def _entries(folder: str, known: dict[str, _Harness]) -> list[dict[str, Any]]:
    if len(known) > MOST:
        return [{"folder": folder, "harnesses": len(known), "traces": sum(one.traces for one in known.values())}]
    ordered = list(known.items())
    if all(one.since is not None for one in known.values()):
        ordered.sort(key=lambda pair: pair[1].since or 0.0)
    entries, before = [], ordered[0][1].tools
    for key, one in ordered:
        entries.append({
            "folder": folder, "harness_hash": key, "first": one.first, "since": _date(one.since), "traces": one.traces,
            "added": sorted(one.tools.keys() - before.keys()), "removed": sorted(before.keys() - one.tools.keys()),
            "changed": sorted(name for name in one.tools.keys() & before.keys() if one.tools[name] != before[name]),
        })  # fmt: skip
        before = one.tools
    return entries


def _date(seconds: float | None) -> str | None:
    # Of a whole number of seconds, so that rounding is the same everywhere.
    return None if seconds is None else datetime.fromtimestamp(int(seconds), UTC).isoformat()
