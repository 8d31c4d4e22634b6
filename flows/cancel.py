"""A cancel that is pressed in Prefect's pages reaches a flow that was started by hand.

Prefect leaves the ending of a cancelled run to the worker that started it. Where there is none, as under `make demo`,
the run would stay in the state CANCELLING and go on. So the flow looks for itself, and ends as it does on SIGTERM.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.exceptions import PrefectException
from prefect.flows import Flow
from prefect.runtime import flow_run as current
from prefect.states import Cancelled

LOOK = 3.0
"""Seconds between two looks at the run's state."""


@contextmanager
def cancellable() -> Iterator[None]:
    """Inside the block a cancel of the flow run at hand arrives as SIGTERM; a worker's run is left to the worker."""
    run_id = current.get_id()
    if not run_id or "PREFECT__FLOW_RUN_ID" in os.environ:
        yield
        return
    over = threading.Event()
    watch = threading.Thread(target=copy_context().run, args=(_look, UUID(run_id), over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


def settle_cancelled(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Hook of a crashed flow run: call it cancelled where that is what was asked for."""
    with get_client(sync_client=True) as client:
        if any(earlier.is_cancelling() for earlier in client.read_flow_run_states(flow_run.id)):
            client.set_flow_run_state(flow_run.id, Cancelled(message="Cancelled; its stage was ended."), force=True)


def _look(run_id: UUID, over: threading.Event) -> None:
    with get_client(sync_client=True) as client:
        while not over.wait(LOOK):
            try:
                state = client.read_flow_run(run_id).state
            except (httpx.HTTPError, PrefectException):
                continue  # a server that does not answer now may do so next time
            if state is not None and state.is_cancelling():
                os.kill(os.getpid(), signal.SIGTERM)
                return
