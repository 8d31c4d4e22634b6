"""`python -m pipeline ...`: what is not a stage. The stages themselves run by `dvc repro` or `make demo`."""

import sys
from typing import Annotated

import typer

from pipeline.doctor import diagnose
from pipeline.errors import RehearsalError, WorkspaceError
from pipeline.presets import apply_preset, preset_names
from pipeline.tracking import sync_pending

app = typer.Typer(
    help="Rehearsal: turn recorded agent runs into a better agent.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
tracking = typer.Typer(help="What has to do with MLflow.", no_args_is_help=True)
app.add_typer(tracking, name="tracking")


@app.command()
def preset(name: Annotated[str, typer.Argument(help=f"One of: {', '.join(preset_names())}.")]) -> None:
    """Rewrite the values in params.yaml that a preset names; the others and all comments stay."""
    changes = apply_preset(name)
    for line in changes:
        print(line)
    print(f"params.yaml: preset {name}, {len(changes)} values changed")


@app.command()
def doctor(
    quick: Annotated[bool, typer.Option(help="Compare versions only; leave out the slow imports.")] = False,
) -> None:
    """Check that this environment is the locked one and that its parts import together."""
    faults = diagnose(imports=not quick)
    if faults:
        raise WorkspaceError("; ".join(faults))
    print("doctor: the environment is sound")


@tracking.command()
def sync() -> None:
    """Upload runs that were recorded while MLflow could not be reached."""
    result = sync_pending()
    if result.pending:
        raise WorkspaceError(f"{result.pending} runs are not in MLflow yet ({result.trouble}); kept, try again later")
    print(f"tracking: {result.uploaded} runs uploaded, none waiting")


def main() -> None:
    """Entry point: a deliberate error is one line on stderr and exit code 1."""
    try:
        app()
    except RehearsalError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
