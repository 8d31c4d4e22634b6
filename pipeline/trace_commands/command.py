"""The commands themselves. What they need is imported when one runs: it takes longer to load than others to finish."""

import json
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Traces: check files before they are ingested, show what was.", no_args_is_help=True)


@app.command()
def check(
    path: Annotated[Path, typer.Argument(help="A file, or a folder of files.")],
    most: Annotated[int, typer.Option(help="Faults told of each file; the counts are of all.", min=0)] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")] = False,
) -> None:
    """Read files as `ingest` would, write nothing, and say what would become of them."""
    from pipeline.terminal import stdout
    from pipeline.trace_commands.checking import check_path
    from pipeline.trace_commands.showing import show_reports

    reports = check_path(path, most)
    if as_json:
        print(json.dumps({"files": [report.as_json() for report in reports]}))
    else:
        show_reports(stdout(), reports)


@app.command()
def show(
    trace_id: Annotated[str, typer.Argument(help="Id of the trace, or how it begins.")],
    file: Annotated[Path, typer.Option(help="Table of traces.")] = Path("data/traces/traces.parquet"),
    longest: Annotated[int, typer.Option(help="Characters shown of one text; 0: all.", min=0)] = 4000,
) -> None:
    """Show one trace: where it is from, how it ended, and the conversation."""
    from pipeline.terminal import stdout
    from pipeline.trace_commands.finding import find_trace
    from pipeline.trace_commands.showing import show_trace

    show_trace(stdout(), find_trace(file, trace_id), longest)
