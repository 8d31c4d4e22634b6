"""A Claude Code session is a tree of events, not a list: which events make up which conversation.

Each event names its parent. A parent that is null or nowhere before it (a resumed or damaged session) means: after the
last event of the same lane. Going back and asking again leaves a dead branch; parallel tool results leave short ones
that are part of the conversation all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.records import JsonObject
from pipeline.traces.parts import kind_of


@dataclass(slots=True, eq=False)
class Event:
    """One event with what the tree needs of it."""

    line: int
    kind: str
    raw: JsonObject
    uuid: str | None
    parent: str | None
    lane: tuple[str, bool, str]
    """Session, whether it is a sub-agent's (a sidechain), which sub-agent."""
    previous: "Event | None" = None
    root: "Event | None" = None

    @property
    def spoken(self) -> bool:
        """Whether it is a message."""
        return self.kind in ("user", "assistant")

    @property
    def message_id(self) -> str | None:
        """The API's id of an agent's message; its blocks may be spread over several events."""
        found = self.raw["message"].get("id") if self.kind == "assistant" else None
        return found if isinstance(found, str) else None


@dataclass(slots=True)
class Branches:
    """One conversation: the events that were carried on, and those that the user went back on."""

    root: Event
    kept: list[Event]
    abandoned: list[Event]


def conversations(events: Sequence[Event]) -> tuple[list[Branches], int]:
    """Conversations in the order of their first event, and the number of parents that could not be found."""
    dangling = _link(events)
    members: dict[int, list[Event]] = {}
    for event in events:
        if event.spoken and event.root is not None:
            members.setdefault(id(event.root), []).append(event)
    return [_branches(group) for group in members.values()], dangling


def _link(events: Sequence[Event]) -> int:
    seen: dict[str, Event] = {}
    last: dict[tuple[str, bool, str], Event] = {}
    dangling = 0
    for event in events:
        parent = seen.get(event.parent) if event.parent is not None else None
        dangling += parent is None and event.parent is not None
        if parent is not None and parent.lane[1] == event.lane[1]:
            event.previous = parent
        elif not event.lane[1] or (event.parent is not None and parent is None):
            event.previous = last.get(event.lane)
        event.root = event.previous.root if event.previous is not None else event
        last[event.lane] = event
        if event.uuid is not None:
            seen.setdefault(event.uuid, event)
    return dangling


def _branches(group: list[Event]) -> Branches:
    path: set[int] = set()
    at: Event | None = group[-1]
    while at is not None:
        path.add(id(at))
        at = at.previous
    said = {event.message_id for event in group if id(event) in path and event.message_id is not None}
    path |= {id(event) for event in group if event.message_id in said}
    calls = {_text(b, "id") for event in group if id(event) in path for b in _blocks(event, "tool_use")}
    path |= {id(event) for event in group if _answers(event, calls)}
    kept = [event for event in group if id(event) in path]
    return Branches(kept[0], kept, [event for event in group if id(event) not in path])


def _answers(event: Event, calls: set[str | None]) -> bool:
    results = _blocks(event, "tool_result")
    return bool(results) and all(_text(block, "tool_use_id") in calls for block in results)


def _blocks(event: Event, kind: str) -> list[JsonObject]:
    content = event.raw["message"].get("content")
    return [block for block in content if kind_of(block) == kind] if isinstance(content, list) else []


def _text(block: JsonObject, key: str) -> str | None:
    found = block.get(key)
    return found if isinstance(found, str) else None
