"""Finding runs again: the run behind a stage hash, its page, and what still waits to be uploaded."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from pipeline.tracking.background import complaint, is_uploading, pending, wait_for_uploads
from pipeline.tracking.journal import records_of, tracking_uri

MLFLOW_PORT = 5000
"""Where `make ui` serves MLflow unless REHEARSAL_MLFLOW_PORT says otherwise."""


@dataclass(frozen=True)
class RunLink:
    """Where a run is to be seen."""

    run_id: str
    experiment_id: str

    @property
    def url(self) -> str:
        """The run's page in MLflow's UI."""
        return f"{ui_address()}/#/experiments/{self.experiment_id}/runs/{self.run_id}"


@dataclass(frozen=True)
class Sync:
    """What `sync_pending` did."""

    uploaded: int
    """Records that were pending and are in MLflow now."""
    pending: int
    """Records that are pending still."""
    trouble: str | None
    """Why, in a few words."""


def ui_address() -> str:
    """Address of MLflow's UI: the tracking server itself, or the one that `make ui` starts."""
    uri = tracking_uri()
    if uri.startswith(("http://", "https://")):
        return uri.rstrip("/")
    return f"http://127.0.0.1:{os.environ.get('REHEARSAL_MLFLOW_PORT') or MLFLOW_PORT}"


def sync_pending(root: Path = Path(), seconds: float = 60.0) -> Sync:
    """Upload records that MLflow could not take before; waits `seconds` at most. Raises OSError for the disk only."""
    before = len(pending(root))
    left = len(wait_for_uploads(root, seconds))
    return Sync(before - left, left, (complaint(root) or "MLflow did not answer in time") if left else None)


def find_run(root: Path, stage_hash: str, seconds: float = 5.0) -> RunLink | None:
    """The newest run of a stage with this hash, from this workspace's records, else from MLflow; None if unknown.

    Waits `seconds` at most for a run that is being uploaded right now.
    """
    records = records_of(root, stage_hash)
    until = time.monotonic() + seconds
    while records and complaint(root) is None:
        state = records[-1].read_state()
        if state.run_id and state.experiment_id:
            return RunLink(state.run_id, state.experiment_id)
        if time.monotonic() > until or not is_uploading(root):
            return None
        time.sleep(0.1)
    return _search(root, stage_hash)


def _search(root: Path, stage_hash: str) -> RunLink | None:
    if complaint(root) is not None:
        return None
    from pipeline.tracking.store import FAILURES, Store  # MLflow: seconds to import, rarely needed

    try:
        store = Store(root)
        run = store.find(stage_hash=stage_hash)
    except FAILURES:
        return None
    return RunLink(str(run.info.run_id), store.experiment_id) if run else None
