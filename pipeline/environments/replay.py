"""A world made of recorded runs: a call that some run of the task made is answered as it was then.

It knows no rules and holds no state. What was never asked is never answered: the agent is told that the call was not
recorded. So it shows whether a policy finds its way where others have been, not what it would do elsewhere.

A file `NAME.replay.yaml` in `environments.folder` makes one:

    traces: desk.traces.parquet   # what `ingest` wrote, copied beside this file
    golden: [approve, deny]       # calls of these tools, as in a successful run, are what a good end looks like
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidationError

from pipeline.environments.base import Environment, unpacked
from pipeline.environments.declared.reading import read_document
from pipeline.environments.recordings import Recording, read_recordings, recorded_schemas
from pipeline.errors import InputError, SpecError
from pipeline.graders.reward import OUTCOME
from pipeline.records import Grade, JsonObject
from pipeline.section import Section
from pipeline.tables import dumps, loads

RECORDED = "recorded"
"""Name of the held-out grade that says which share of the calls had been recorded."""
Call = tuple[str, str]
"""Tool, and arguments as canonical JSON."""
UNKNOWN = "not recorded: no run of this task made this call"


class ReplaySpec(Section):
    """What a `NAME.replay.yaml` says."""

    traces: Annotated[str, Field(min_length=1)]
    """A table of traces, relative to this file."""
    harness: str | None = None
    """Only runs with this harness hash; absent: with the most frequent one."""
    golden: tuple[str, ...] = ()
    """Tools whose calls, all and no others, make the outcome; without any the outcome is unknown."""
    success_at: float = 1.0
    """Runs with at least this reward are successful."""
    nearest: Annotated[float, Field(gt=0, le=1)] | None = None
    """Answer an unrecorded call like the recorded one of that tool with at least this share of equal arguments."""
    procedure: str | None = None
    """What the agent is told; absent: the most frequent system message of the runs."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay file and the runs that it takes, those of one harness."""

    spec: ReplaySpec
    recordings: tuple[Recording, ...]


class ReplayEnvironment(Environment):
    """One rollout. `initial_state` of its task holds the answers: {"recorded": {tool: {arguments: [answers]}}}.

    The answers to a call that a run made several times come in that run's order, the last of them for ever.
    `golden_state` is {"calls": [alternatives]}, each counting the calls that a successful run made, or empty.
    """

    gives = ((OUTCOME, "outcome"),)
    instant = True
    replay: ClassVar[Replay]

    def reset(self, **task: Any) -> str | None:
        """Load a task's answers and what a good end looks like; other keys are ignored."""
        self._anew()
        task = unpacked(task)
        self._answers: dict[str, dict[str, list[str]]] = task["initial_state"][RECORDED]
        self._golden: JsonObject = task["golden_state"]
        self._met: Counter[Call] = Counter()
        self._found = 0
        self._calls: list[Call] = []
        return None

    def _tool(self, name: str) -> Callable[..., str]:
        return partial(self._answer, name)

    def _answer(self, tool: str, /, **arguments: Any) -> str:
        key = dumps(arguments)
        self._calls.append((tool, key))
        known = self._answers.get(tool, {})
        near = key if key in known else self._nearest(known, arguments)
        if near is None:
            return UNKNOWN
        self._found += 1
        answers, before = known[near], self._met[tool, near]
        self._met[tool, near] += 1
        return answers[min(before, len(answers) - 1)]

    def _nearest(self, known: dict[str, list[str]], arguments: JsonObject) -> str | None:
        least = self.replay.spec.nearest
        if least is None or not known:
            return None
        likeness = {key: _likeness(key, arguments) for key in sorted(known)}
        best = max(likeness, key=lambda key: likeness[key])
        return best if likeness[best] >= least else None

    def _state(self) -> JsonObject:
        return {"calls": counted(self._calls)}

    def _grade(self) -> tuple[Grade, ...]:
        return (self._outcome(), self._recorded())

    def _outcome(self) -> Grade:
        if "calls" not in self._golden:
            return Grade(OUTCOME, "outcome", None, reason="no recorded run says what a good end looks like")
        made = counted([call for call in self._calls if call[0] in self.replay.spec.golden])
        passed = made in self._golden["calls"]
        reason = f"of the calls that count it made {dumps(made)}" if made else "it made none of the calls that count"
        if passed:
            reason = "the calls that count are those of a successful run"
        return Grade(OUTCOME, "outcome", float(passed), passed, reason=reason)

    def _recorded(self) -> Grade:
        total = len(self._calls)
        share = self._found / total if total else 1.0
        reason = f"{self._found} of {total} calls had been recorded"
        return Grade(RECORDED, "process", share, self._found == total, reason=reason, held_out=True)


def counted(calls: Sequence[Call]) -> dict[str, int]:
    """How often each call was made, by its text."""
    return {f"{tool} {arguments}": count for (tool, arguments), count in sorted(Counter(calls).items())}


def load_replay(path: Path) -> type[ReplayEnvironment]:
    """The class that a replay file makes; equal files give the same class. Raises InputError, SpecError."""
    return _class_of(path, replay_fingerprint(path))


def replay_fingerprint(path: Path) -> str:
    """Hash of a replay file and its table. Raises InputError, SpecError."""
    digest = hashlib.sha256(path.read_bytes())
    table = path.parent / _read(path).traces
    try:
        digest.update(table.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: traces: {table} cannot be read: {error.strerror}; copy data/traces/traces.parquet "
                         "there") from error  # fmt: skip
    return digest.hexdigest()[:16]


@cache
def _class_of(path: Path, fingerprint: str) -> type[ReplayEnvironment]:
    spec = _read(path)
    taken = _taken(path, spec)
    schemas = recorded_schemas(taken)
    if unknown := [name for name in spec.golden if name not in schemas]:
        raise InputError(f"{path}: golden: no run knows a tool {unknown[0]!r}; there are {', '.join(schemas)}")
    systems = Counter(one.system for one in taken)
    procedure = systems.most_common(1)[0][0] if spec.procedure is None else spec.procedure
    members = {
        "__doc__": f"Runs recorded in {spec.traces}, replayed.", "replay": Replay(spec, taken), "procedure": procedure,
        "schemas": tuple(_callable(name, schema, taken) for name, schema in schemas.items()),
    }  # fmt: skip
    return type("ReplayOfTraces", (ReplayEnvironment,), members)


def _taken(path: Path, spec: ReplaySpec) -> tuple[Recording, ...]:
    """The runs of one harness; which one is the most frequent, those tell that make a call."""
    found = list(read_recordings(path.parent / spec.traces))
    harnesses = Counter(one.harness_hash for one in found if one.calls)
    wanted = spec.harness or next((each for each, _ in harnesses.most_common(1)), None)
    if wanted not in harnesses:
        known = ", ".join(f"{name} ({count} runs)" for name, count in harnesses.most_common(5)) or "none"
        raise InputError(f"{path}: harness: no run of {spec.traces} has {wanted!r} and makes a call; there are {known}")
    return tuple(one for one in found if one.harness_hash == wanted)


def shown_schemas(replay: Replay) -> tuple[JsonObject, ...]:
    """The tools as the recorded agent saw them, so that its runs fit this harness."""
    return tuple(recorded_schemas(replay.recordings).values())


def _read(path: Path) -> ReplaySpec:
    try:
        document = read_document(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text: {error}") from error
    try:
        return ReplaySpec.model_validate(document.data)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise SpecError(str(document.fault(tuple(fault["loc"]), fault["msg"]))) from error


def _callable(name: str, schema: JsonObject, recordings: tuple[Recording, ...]) -> JsonObject:
    """What a call is checked by: names only. A recorded schema may refer to an address or be none at all."""
    seen = [call.arguments for one in recordings for call in one.calls if call.tool == name]
    declared = schema["function"].get("parameters")
    properties = declared.get("properties") if isinstance(declared, dict) else None
    names = [*(properties if isinstance(properties, dict) else {}), *(each for one in seen for each in one)]
    parameters = {"type": "object", "properties": {each: {} for each in dict.fromkeys(names)}}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


def _likeness(key: str, arguments: JsonObject) -> float:
    """Share of equal arguments among all names of both."""
    other: JsonObject = loads(key)
    names = other.keys() | arguments.keys()
    equal = sum(dumps(other[name]) == dumps(arguments[name]) for name in other.keys() & arguments.keys())
    return equal / len(names) if names else 1.0
