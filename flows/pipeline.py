"""The flow `rehearsal`: the stages of dvc.yaml as a DAG of Prefect tasks. `python -m flows.pipeline` runs it.

DVC decides what is out of date and is the only cache; Prefect shows, logs and schedules. Each task brings one stage up
to date with `dvc repro --single-item`, so the flow leaves the same dvc.lock as a plain `dvc repro`.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import environ
from pathlib import Path

from prefect import flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.events.worker import EventsWorker
from prefect.exceptions import TerminationSignal
from prefect.logging.handlers import APILogWorker
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.artifacts import show_stage
from flows.cancel import cancellable, settle_cancelled
from flows.repro import repro
from flows.servers import check_listening, free_port, running_prefect, serving
from flows.wiring import PIPELINE, Wiring
from pipeline.comparison import comparison
from pipeline.errors import RehearsalError
from pipeline.params import load_params
from pipeline.tables import read_json
from pipeline.tracking import PipelineRun, locked_hashes, pipeline_run, sync_pending
from pipeline.workspace import name_holder, workspace_lock

RAN = "Running stage '"
"""What DVC prints when it does not find a stage up to date or in its cache."""

FLUSH = 20.0
"""Seconds that Prefect's last logs and events may take."""


@task(cache_policy=NO_CACHE, persist_result=False)
def bring_up_to_date(stage: str) -> bool:
    """Run one stage unless it is up to date; returns whether it ran. Raises WorkspaceError when it fails."""
    root, logger, ran = Path(), get_run_logger(), False

    def on_line(line: str) -> None:
        nonlocal ran
        ran = ran or line.startswith(RAN)
        print(line, flush=True)
        logger.info(line)

    name_holder(root, f"the flow's stage {stage}")
    repro(root, stage, on_line)
    show_stage(root, stage, ran)
    return ran


@flow(name="rehearsal", persist_result=False, validate_parameters=False, on_crashed=[settle_cancelled])
def rehearsal() -> list[str]:
    """From traces to a better agent, and the report that proves it; returns the stages that ran."""
    return run_stages(PIPELINE)


def run_stages(wiring: Wiring) -> list[str]:
    """Run stages one after the other inside a flow, each a task that waits for its upstream tasks.

    Returns those that were out of date and ran. Stops at the first that fails and raises its WorkspaceError. Nothing
    runs side by side: DVC lets one repro at a time into a workspace.
    """
    done: dict[str, State[bool]] = {}
    ran = []
    with pipeline_run(Path()) as parent, cancellable():
        for stage, before in wiring.items():
            named = bring_up_to_date.with_options(name=stage, task_run_name=stage)
            state = named(stage, wait_for=[done[other] for other in before], return_state=True)
            done[stage] = state
            if state.result():
                ran.append(stage)
            else:
                _tell_reused(parent, stage)
    return ran


def _tell_reused(parent: PipelineRun, stage: str) -> None:
    made_by = locked_hashes(Path()).get(stage)
    if made_by:
        parent.log_reused({stage: made_by})


@contextmanager
def prefect_api(root: Path) -> Iterator[None]:
    """A Prefect API for the block: the one named in PREFECT_API_URL, that of `make ui`, or a server of our own."""
    given = environ.get("PREFECT_API_URL")
    if given:
        check_listening(given)
        yield
        return
    running = running_prefect(root)
    if running:
        with temporary_settings({PREFECT_API_URL: running}):
            yield
        return
    print("starting a Prefect server for this run ...", flush=True)
    with serving(root, {"prefect": free_port()}) as (server,):
        print(f"the run is to be seen at {server.url} while it lasts, later by `make ui`", flush=True)
        with temporary_settings({PREFECT_API_URL: f"{server.url}/api"}):
            try:
                yield
            finally:
                _hand_over()


def _hand_over() -> None:
    """Wait for what Prefect sends in the background; else it would try a stopped server for a minute at exit."""
    APILogWorker.drain_all(timeout=FLUSH)
    EventsWorker.drain_all(timeout=FLUSH)


def main() -> int:
    """Run the flow in the current folder; returns the exit code."""
    return guarded(Path(), _rehearse)


def guarded(root: Path, run: Callable[[], None]) -> int:
    """Call a flow under the workspace's lock and with a Prefect API; trouble is one line and an exit code."""
    # Prefect sends SIGTERM on to the handler before its own: Python's would end us before the servers are stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        load_params(root / "params.yaml")
        with workspace_lock(root, "the flow"), prefect_api(root):
            run()
    except RehearsalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, TerminationSignal):
        print("stopped; the next run goes on from here", file=sys.stderr)
        return 130
    return 0


def _rehearse() -> None:
    ran, root = rehearsal(), Path()
    if "report" not in ran:  # else it has just printed the same
        print(comparison(read_json(root / "metrics/eval.json")))
    sync = sync_pending(root)
    if sync.pending:
        print(f"tracking: {sync.pending} runs wait in .work/tracking to be uploaded ({sync.trouble})")
    print("\nreport   reports/index.html\npages    make ui   (Prefect: the run as a graph; MLflow: compare runs)")


if __name__ == "__main__":
    sys.exit(main())
