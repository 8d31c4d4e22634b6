"""The commands themselves. What they need is imported when one runs: it takes longer to load than others to finish."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.errors import InputError

app = typer.Typer(help="Tasks: why one was kept or dropped; profiles of further models.", no_args_is_help=True)
Rollouts = Annotated[Path, typer.Argument(help="Rollouts of a profile, such as data/profile/rollouts.parquet.")]


@app.command()
def show(
    task_id: Annotated[str, typer.Argument(metavar="ID", help="A task's id, or the beginning of it.")],
    number: Annotated[int | None, typer.Option("--try", help="Show this try as a conversation.", min=0)] = None,
) -> None:
    """Show a task, its tries, and why it was kept or dropped."""
    from pipeline.params import load_params
    from pipeline.task_commands.finding import find
    from pipeline.task_commands.showing import show_task, show_try
    from pipeline.terminal import stdout

    found, console = find(task_id), stdout()
    show_task(console, found, load_params().reward)
    if number is not None:
        chosen = next((one for one in found.tries if one.try_index == number), None)
        if chosen is None:
            raise InputError(f"task {found.task.task_id} has no try {number}, only {len(found.tries)} tries")
        show_try(console, chosen)


@app.command("list")
def list_groups(
    reason: Annotated[str | None, typer.Option(help="Only groups with this reason, such as no_spread.")] = None,
    most: Annotated[int, typer.Option(help="Groups to print.", min=0)] = 20,
) -> None:
    """List the profiled tasks with their verdicts, those with most spread first."""
    from pipeline.selection.reasons import Reason
    from pipeline.task_commands.finding import groups_with
    from pipeline.task_commands.showing import show_groups
    from pipeline.terminal import stdout

    if reason is not None and reason not in [each.value for each in Reason]:
        raise InputError(f"unknown reason {reason!r}; choose one of {', '.join(each.value for each in Reason)}")
    show_groups(stdout(), groups_with(reason), most)


@app.command()
def profile(
    model: Annotated[Path, typer.Argument(help="A model's folder, such as models/rl.")],
    shard: Annotated[str | None, typer.Option(help="2/4: play the second of four shares and leave the rest.")] = None,
) -> None:
    """Profile the train tasks with any model into data/profile/NAME.parquet; or one share of a profile's chunks."""
    from pipeline.params import load_params
    from pipeline.task_commands.profiling import profile_model

    print(profile_model(load_params(), model, shard))


@app.command()
def compare(
    before: Rollouts,
    after: Rollouts,
    out: Annotated[Path | None, typer.Option(help="CSV file with both pass rates of every common task.")] = None,
) -> None:
    """Compare two models' profiles of the same tasks, joined by task."""
    from pipeline.params import load_params
    from pipeline.task_commands.profiling import compare_profiles
    from pipeline.task_commands.showing import show_comparison
    from pipeline.terminal import stdout

    show_comparison(stdout(), compare_profiles(load_params(), before, after, out))
