"""Held out means held out: nothing that touches a valid or eval task is imitated."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from pipeline.curation.candidates import Candidate, plain
from pipeline.records import JsonObject, Message, Task

_NAME = re.compile(r"[\w-]*\d[\w-]*")
"""Words that may be the number of a case: letters, digits, hyphens, at least one digit."""


class HeldOut:
    """The tasks that training must not know: their ids, their questions, the cases in their initial states.

    A case is a row of a table of the state, known by its key when that holds a digit. Keys that stand in the state of
    every task of an environment belong to that world, not to a case; a question that several tasks ask is no sign of
    one of them.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks: set[str] = set()
        asked: Counter[str] = Counter()
        keys: defaultdict[str, Counter[str]] = defaultdict(Counter)
        made: Counter[str] = Counter()
        for task in tasks:
            self._tasks.add(task.task_id)
            asked[plain(task.question)] += 1
            keys[task.environment].update(set(_row_keys(task.initial_state)))
            made[task.environment] += 1
        self._questions = {question for question, count in asked.items() if count == 1}
        self._cases = {
            key for name, found in keys.items() for key, count in found.items() if made[name] == 1 or count < made[name]
        }

    def touches(self, candidate: Candidate) -> bool:
        """Whether a candidate is of a held-out task, asks its question or speaks of one of its cases."""
        if any(task_id in self._tasks for task_id in candidate.task_ids):
            return True
        if any(question in self._questions for question in candidate.questions):
            return True
        return any(name in self._cases for message in candidate.messages for name in _names(message))


def _row_keys(state: JsonObject) -> Iterator[str]:
    tables: Iterable[Any] = state.values()
    for table in tables:
        if isinstance(table, dict):
            yield from (key for key in table if any(letter.isdigit() for letter in key))


def _names(message: Message) -> Iterator[str]:
    if message.role == "system":
        return
    for text in (message.content or "", *(call.raw_arguments for call in message.tool_calls)):
        yield from _NAME.findall(text)
