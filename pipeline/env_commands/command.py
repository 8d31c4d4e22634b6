"""The commands themselves. What they need is imported when one runs: it takes longer to load than others to finish."""

import json
import random
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.errors import RehearsalError

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.environments.worlds import World

app = typer.Typer(help="Environments: find, check and play them.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="A name as in params.yaml, or the path of a YAML file.")]
Seed = Annotated[int, typer.Option(help="Another number draws other tasks.")]
Template = Annotated[str | None, typer.Option(help="Template of the task; the first if none is named.")]


@app.command("list")
def list_all() -> None:
    """List the shipped environments and your own."""
    from pipeline.env_commands.finding import list_environments
    from pipeline.env_commands.showing import show_list
    from pipeline.terminal import stdout

    show_list(stdout(), list_environments())


@app.command()
def schema() -> None:
    """Print the JSON schema of specs, for editors."""
    from pipeline.environments.declared.schema import schema_text

    print(schema_text(), end="")


@app.command()
def check(
    name: Name,
    tasks: Annotated[int, typer.Option(help="Tasks drawn of each template.", min=1)] = 200,
    template: Template = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")] = False,
) -> None:
    """Prove every template of a declared environment solvable, say what is odd, and play one golden episode."""
    from rich.console import Console

    from pipeline.env_commands.checking import Effort
    from pipeline.env_commands.checking import check as check_world
    from pipeline.env_commands.finding import find_declared
    from pipeline.env_commands.showing import show_report
    from pipeline.terminal import stdout

    console = stdout(quiet=as_json)
    try:
        world = find_declared(name)
        with Console(stderr=True).status("drawing tasks") as status:
            report = check_world(world, seed, Effort(tasks), lambda each: status.update(f"drawing tasks: {each}"))
    except RehearsalError as error:
        if not as_json:
            raise
        print(json.dumps({"name": name, "faults": [str(error)]}))
        raise typer.Exit(1) from error
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
    show_report(console, report)
    if report.faults:
        raise typer.Exit(1)
    _show_golden(console, world, template, seed)


@app.command()
def tasks(name: Annotated[str, typer.Argument(help="A name as in params.yaml, or a NAME.verifiers.yaml.")]) -> None:
    """Write the tasks of a taskset of verifiers into NAME.jsonl beside its file."""
    from pipeline.env_commands.tasksets import write_tasks

    path, count = write_tasks(name)
    print(f"{path}: {count} tasks")


@app.command()
def play(name: Name, template: Template = None, seed: Seed = 0) -> None:
    """Play a task yourself; the grades, with their reasons, come at the end."""
    from pipeline.env_commands.finding import find_world
    from pipeline.env_commands.playing import play as play_world
    from pipeline.env_commands.tasks import task_to_play
    from pipeline.terminal import stdout

    console = stdout()
    world = find_world(name)
    play_world(console, world, task_to_play(world, template, seed), _lines(console.is_terminal))


def _show_golden(console: "Console", world: "World", template: str | None, seed: int) -> None:
    from pipeline.env_commands.showing import show_episode, show_grades
    from pipeline.env_commands.tasks import drawn_task
    from pipeline.synthesis.scripted import run_scripted

    messages, grades = run_scripted(world, drawn_task(world, template, seed), frozenset(), random.Random(seed))
    show_episode(console, messages)
    show_grades(console, grades)


def _lines(prompting: bool) -> Iterator[str]:
    """Lines typed by a person, or piped in."""
    while True:
        try:
            yield input("> ") if prompting and sys.stdin.isatty() else input()
        except EOFError:
            return
