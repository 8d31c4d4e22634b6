"""A person plays: sees what an agent sees, makes calls, and reads the grades at the end."""

from collections.abc import Callable, Iterator

from rich.console import Console
from rich.text import Text

from pipeline.env_commands.mutations import show_call
from pipeline.env_commands.showing import show_grades, show_tools
from pipeline.env_commands.typed import Hint, read_call
from pipeline.environments.base import Environment
from pipeline.environments.tools import call_tool, reset_arguments
from pipeline.environments.users import ScriptedUser
from pipeline.environments.worlds import World
from pipeline.records import Grade, Message, Task
from pipeline.terminal import print_framed

TIMEOUT = 30.0
"""Seconds that a tool has for its answer."""
HELP = (
    "Type a call, such as `{example}` or the same in JSON. `tools` lists the tools again, `say TEXT` speaks to whoever "
    "asked, `done` ends the episode, `done TEXT` with a last word."
)
LEAVING = "`done` ends the episode, with its grades. To leave without them: Ctrl-C; nothing of the episode is kept."


def play(console: Console, world: World, task: Task, lines: Iterator[str]) -> tuple[Grade, ...]:
    """Play one task with what `lines` gives; ends with `done` or with the last line. Returns the grades.

    Raises EnvironmentFault when the environment breaks.
    """
    environment = world.factory()
    added = environment.reset(**reset_arguments(task))
    _open(console, world, task.question + (f"\n{added}" if added else ""), task)
    user = ScriptedUser(environment.user, task.task_id) if environment.user is not None else None
    tools, calls = {tool["function"]["name"] for tool in world.tools}, 0
    for line in map(str.strip, lines):
        word, _, rest = line.partition(" ")
        if word == "done":
            environment.said = rest.strip()
            environment.transcript.append(Message("assistant", environment.said))
            break
        if word == "tools":
            show_tools(console, world)
        elif word in ("help", "?"):
            _help(console, task)
        elif word == "say":
            _say(console, user.answer if user is not None else None, environment, rest)
        elif word in ("quit", "exit", "q") and word not in tools:
            console.print(Text(f"  {LEAVING}", style="yellow"))
        elif word:
            calls += _call(console, world, environment, line)
    console.print(Text(f"\nThe episode is over after {calls} calls; the golden run has {len(task.golden_calls)}:"))
    for call in task.golden_calls:
        console.print(Text(f"  {show_call(call)}", style="dim"))
    grades = environment.grade()
    environment._release()
    show_grades(console, grades)
    return grades


def _open(console: Console, world: World, question: str, task: Task) -> None:
    if world.procedure:
        print_framed(console, "procedure", Text(world.procedure))
    print_framed(console, "question", Text(question, style="bold"))
    show_tools(console, world)
    _help(console, task)


def _help(console: Console, task: Task) -> None:
    example = show_call(task.golden_calls[0]) if task.golden_calls else "TOOL NAME=VALUE"
    name = example.partition(" ")[0]
    console.print(Text(HELP.format(example=f"{name} NAME=VALUE"), style="dim"))


def _call(console: Console, world: World, environment: Environment, line: str) -> int:
    """Make the call that a line stands for; returns how many were made."""
    try:
        call = read_call(world, line)
    except Hint as hint:
        console.print(Text(f"  {hint} (not counted as a call)", style="yellow"))
        return 0
    answer = call_tool(environment, call, TIMEOUT)
    environment.transcript += [
        Message("assistant", None, (call,)), Message("tool", answer.content, tool_call_id=call.id, name=call.name),
    ]  # fmt: skip
    console.print(Text(f"  {answer.content}", style="red" if answer.error else ""))
    return 1


def _say(console: Console, answer: Callable[[str], str | None] | None, environment: Environment, said: str) -> None:
    said = said.strip()
    environment.transcript.append(Message("assistant", said))
    reply = answer(said) if answer is not None else None
    console.print(Text(f"  {reply}" if reply else "  (nobody answers)", style="bold" if reply else "dim"))
    if reply:
        environment.transcript.append(Message("user", reply))
