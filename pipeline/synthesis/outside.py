"""Tasks of the suite outside all environments: plain instructions, arithmetic, copying, other tools' schemas.

Kinds take turns; each task draws from its own seed, so task i is the same however many are made. Every task is proved:
its right answer, or its one call, must earn outcome 1. Its tools and words are those of no environment trained on.
"""

import hashlib
import random
from collections.abc import Callable, Iterator

from pipeline.environments.outside import ANSWERS
from pipeline.environments.tools import call_tool, reset_arguments
from pipeline.environments.worlds import Worlds
from pipeline.errors import InputError
from pipeline.graders.reward import outcome
from pipeline.records import JsonObject, Task, ToolCall
from pipeline.tables import dumps

WORDS = (
    "river", "candle", "orchard", "violin", "pebble", "lantern", "meadow", "harbor", "copper", "willow", "thunder",
    "saddle", "marble", "falcon", "ginger", "velvet", "anchor", "cactus", "comet", "basil", "tunnel", "walnut",
    "pillow", "rocket", "badger", "quartz", "sparrow", "maple", "igloo", "fiddle",
)  # fmt: skip
_CODE = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday")
_ROOMS = ("hall", "kitchen", "study", "attic", "cellar")
_COLOURS = ("amber", "green", "blue")

Draft = tuple[str, str, JsonObject]
"""Name of the world, question, golden state."""


def outside_tasks(worlds: Worlds, seed: int, count: int) -> Iterator[Task]:
    """`count` different tasks; `worlds` are `outside_worlds()`. Raises InputError when one cannot be solved."""
    seen: set[str] = set()
    index = 0
    while len(seen) < count:
        task = make_outside_task(worlds, seed, index)
        index += 1
        if task.task_id not in seen:
            seen.add(task.task_id)
            yield task


def make_outside_task(worlds: Worlds, seed: int, index: int) -> Task:
    """Task number `index` of the suite."""
    rng = random.Random(f"outside-{seed}-{index}")
    kind = tuple(KINDS)[index % len(KINDS)]
    world, question, golden = KINDS[kind](rng)
    identity = hashlib.sha256(dumps([world, kind, question, golden]).encode()).hexdigest()[:16]
    calls = tuple(golden.get("calls", ()))
    task = Task(identity, world, kind, "outside", seed, question, {}, golden, calls, {})
    _prove(worlds, task)
    return task


def _prove(worlds: Worlds, task: Task) -> None:
    environment = worlds[task.environment].factory()
    environment.reset(**reset_arguments(task))
    for number, call in enumerate(task.golden_calls):
        call_tool(environment, ToolCall(str(number), call["name"], call["arguments"], dumps(call["arguments"])))
    environment.said = str(task.golden_state.get("text", task.golden_state.get("number", "done")))
    grades = environment.grade()
    if outcome(grades) != 1.0:
        raise InputError(f"outside suite: the right answer to {task.question!r} earns {grades}; its template is broken")


def _instruction(rng: random.Random) -> Draft:
    words = rng.sample(WORDS, 4)
    listed, place = ", ".join(words), rng.randrange(4)
    question, answer = rng.choice(
        (
            (f"Answer with this word only, in capital letters: {words[0]}", words[0].upper()),
            (f"Write these words in alphabetical order, separated by spaces: {listed}", " ".join(sorted(words))),
            (f"Which of these words has its place first in the alphabet? Answer with it alone: {listed}", min(words)),
            (f"Answer with word number {place + 1} of this list and nothing else: {listed}", words[place]),
            (f"Write the word {words[0]} {place + 2} times, separated by spaces, and nothing else.",
             " ".join(words[:1] * (place + 2))),
        )
    )  # fmt: skip
    return ANSWERS, question, {"text": answer}


def _arithmetic(rng: random.Random) -> Draft:
    a, b, c = rng.randrange(12, 100), rng.randrange(12, 100), rng.randrange(3, 10)
    form, value = rng.choice(
        (
            (f"{a} + {b}", a + b), (f"{a + b} - {b}", a), (f"{a} * {c}", a * c), (f"{a * c} / {c}", a),
            (f"({a} + {b}) * {c}", (a + b) * c),
        )
    )  # fmt: skip
    return ANSWERS, f"What is {form}? Answer with the number.", {"number": float(value)}


def _copying(rng: random.Random) -> Draft:
    code = "".join(rng.choice(_CODE) for _ in range(8))
    line = rng.choice((" ".join(rng.sample(WORDS, 5)), code, f"{rng.choice(WORDS)} {code} {rng.choice(WORDS)}"))
    return ANSWERS, f"Repeat this line exactly and add nothing:\n{line}", {"text": line}


def _tools(rng: random.Random) -> Draft:
    world, question, name, arguments = rng.choice(_REQUESTS)(rng)
    return world, question, {"calls": [{"name": name, "arguments": arguments}], "refused": 0}


def _event(rng: random.Random) -> tuple[str, str, str, JsonObject]:
    title, day, hour = rng.choice(WORDS), rng.choice(_DAYS), rng.randrange(8, 20)
    question = f'Put "{title}" into my calendar on {day} at {hour} o\'clock.'
    return "outside_calendar", question, "add_event", {"title": title, "day": day, "hour": hour}


def _cancel(rng: random.Random) -> tuple[str, str, str, JsonObject]:
    title = " ".join(rng.sample(WORDS, 2))
    return "outside_calendar", f'Cancel my appointment "{title}".', "cancel_event", {"title": title}


def _timer(rng: random.Random) -> tuple[str, str, str, JsonObject]:
    label, minutes = rng.choice(WORDS), rng.randrange(2, 60)
    question = f'Start a timer of {minutes} minutes with the label "{label}".'
    return "outside_kitchen", question, "set_timer", {"label": label, "minutes": minutes}


def _oven(rng: random.Random) -> tuple[str, str, str, JsonObject]:
    degrees = rng.randrange(100, 250, 5)
    return "outside_kitchen", f"Heat the oven to {degrees} degrees.", "heat_oven", {"degrees": degrees}


def _lamp(rng: random.Random) -> tuple[str, str, str, JsonObject]:
    room, brightness, colour = rng.choice(_ROOMS), rng.randrange(5, 100, 5), rng.choice(_COLOURS)
    question = f"Set the light in the {room} to {colour} with brightness {brightness}."
    return "outside_lamps", question, "set_lamp", {"room": room, "brightness": brightness, "colour": colour}


def _renew(rng: random.Random) -> tuple[str, str, str, JsonObject]:
    book, weeks = f"The {rng.choice(WORDS).title()}", rng.randrange(2, 7)
    question = f'I want to keep "{book}" for {weeks} more weeks.'
    return "outside_library", question, "renew_loan", {"book": book, "weeks": weeks}


def _reserve(rng: random.Random) -> tuple[str, str, str, JsonObject]:
    books = [f"The {word.title()}" for word in rng.sample(WORDS, 2)]
    question = f'Reserve "{books[0]}" and "{books[1]}" for me, in this order.'
    return "outside_library", question, "reserve", {"books": books}


_REQUESTS = (_event, _cancel, _timer, _oven, _lamp, _renew, _reserve)
KINDS: dict[str, Callable[[random.Random], Draft]] = {
    "instructions": _instruction, "arithmetic": _arithmetic, "copying": _copying, "tools": _tools,
}  # fmt: skip
"""Kind of task, which is its template, and how one is drawn."""
