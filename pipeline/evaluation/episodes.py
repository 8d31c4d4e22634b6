"""Episodes before and after, side by side: the same eval task by SFT and by RL.

Which ones is a rule, not a choice of the flattering: the task with the largest gain, and the one where RL still fails
or lost most. Text of models and tools stays plain text; the page escapes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.evaluation.inputs import Inputs
from pipeline.evaluation.metrics import TaskScores
from pipeline.graders.reward import success
from pipeline.records import Grade, Message, Rollout, Task, ToolCall
from pipeline.tables import dumps

_LONGEST = 1500
"""Characters shown of one message; an agent with long thoughts must not fill the page."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as shown. `only_here`: the other side never made this call."""

    name: str
    arguments: str
    error: str
    answer: str
    only_here: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One turn as shown."""

    said: str
    calls: tuple[Call, ...]
    answers: tuple[str, ...]
    """Answers that belong to no call, such as the report of a malformed one."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One rollout as shown, with how often its model solved the task."""

    model: str
    solved: bool | None
    successes: int
    tries: int
    steps: tuple[Step, ...]
    grades: tuple[Grade, ...]
    stop_reason: str


@dataclass(frozen=True, slots=True)
class Pair:
    """The same task by two models."""

    title: str
    why: str
    task: Task
    before: Episode
    after: Episode


@dataclass(frozen=True, slots=True)
class _Choice:
    title: str
    why: str
    task_id: str
    before_solved: bool
    after_solved: bool


def pick_pairs(inputs: Inputs, success_at: float) -> list[Pair]:
    """At most two pairs; none when no task tells the models apart."""
    sft, rl = inputs.scores["eval"]["sft"], inputs.scores["eval"]["rl"]
    choices = _choose(sft, rl)
    tasks = inputs.tasks(choice.task_id for choice in choices)
    return [
        Pair(
            choice.title, choice.why, tasks[choice.task_id],
            *_episodes(inputs, choice, success_at),
        )
        for choice in choices
    ]  # fmt: skip


def _choose(sft: TaskScores, rl: TaskScores) -> list[_Choice]:
    before = {t: (c, n) for t, c, n in zip(sft.task_ids, sft.successes_T.tolist(), sft.graded_T.tolist(), strict=True)}
    both = [
        (rl_c / rl_n - before[task][0] / before[task][1], rl_c / rl_n, task, rl_c, rl_n)
        for task, rl_c, rl_n in zip(rl.task_ids, rl.successes_T.tolist(), rl.graded_T.tolist(), strict=True)
        if rl_n and before.get(task, (0, 0))[1]
    ]
    choices = []
    gained = max(both, key=lambda one: (one[0], one[2]), default=None)
    if gained and gained[0] > 0:
        why = "The eval task with the largest gain: a try that SFT failed, and one that RL solved."
        choices.append(_Choice("What RL learnt", why, gained[2], False, True))
    failing = [one for one in both if one[3] < one[4] and one is not gained]
    lost = min(failing, key=lambda one: (one[0] if one[0] < 0 else 0, one[1], one[2]), default=None)
    if lost:
        title = "What RL lost" if lost[0] < 0 else "What RL still fails"
        why = "The eval task with the largest loss" if lost[0] < 0 else "An eval task that RL solves least often"
        side = before[lost[2]][0] > 0
        choices.append(_Choice(title, f"{why}: a try that RL failed.", lost[2], side, False))
    return choices


def _episodes(inputs: Inputs, choice: _Choice, success_at: float) -> tuple[Episode, Episode]:
    found = {}
    for model, wanted in (("sft", choice.before_solved), ("rl", choice.after_solved)):
        scores = inputs.scores["eval"][model]
        place = scores.task_ids.index(choice.task_id)
        keys = [(choice.task_id, number) for number in scores.numbers[place]]
        tries = sorted(inputs.rollouts(model, keys).values(), key=lambda one: one.try_index)
        shown = next(one for one in tries if success(one.grades, success_at) is wanted)
        found[model] = (shown, int(scores.successes_T[place]), int(scores.graded_T[place]))
    made = {model: {_signature(call) for call in _calls(shown)} for model, (shown, _, _) in found.items()}
    return (
        _episode(*found["sft"], made["rl"], success_at),
        _episode(*found["rl"], made["sft"], success_at),
    )


def _episode(rollout: Rollout, successes: int, tries: int, theirs: set[str], success_at: float) -> Episode:
    steps = tuple(_step(turn.message, turn.tool_results, theirs) for turn in rollout.turns)
    return Episode(
        rollout.model, success(rollout.grades, success_at), successes, tries, steps, _told(rollout.grades),
        rollout.stop_reason.value,
    )  # fmt: skip


def _told(grades: Sequence[Grade]) -> tuple[Grade, ...]:
    """Grades of the episode, then those on turns that are no pass: what went right needs no line."""
    whole = [grade for grade in grades if grade.turn is None]
    return (*whole, *(grade for grade in grades if grade.turn is not None and grade.passed is False))


def _step(message: Message, results: Sequence[Message], theirs: set[str]) -> Step:
    answers = {result.tool_call_id: result.content or "" for result in results if result.tool_call_id}
    calls = tuple(
        Call(
            call.name, _arguments(call), call.parse_error or "", _short(answers.pop(call.id, "")),
            _signature(call) not in theirs,
        )
        for call in message.tool_calls
    )  # fmt: skip
    loose = [result.content or "" for result in results if not result.tool_call_id]
    said = "\n\n".join(part for part in (message.reasoning, message.content) if part)
    return Step(_short(said), calls, tuple(_short(text) for text in [*answers.values(), *loose]))


def _calls(rollout: Rollout) -> list[ToolCall]:
    return [call for turn in rollout.turns for call in turn.message.tool_calls]


def _signature(call: ToolCall) -> str:
    return f"{call.name} {call.raw_arguments if call.arguments is None else dumps(call.arguments)}"


def _arguments(call: ToolCall) -> str:
    if call.arguments is None:
        return _short(call.raw_arguments)
    return _short(", ".join(f"{name}={dumps(value)}" for name, value in call.arguments.items()))


def _short(text: str) -> str:
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]} \u2026 and {left} more characters"
