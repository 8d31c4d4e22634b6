"""Seeing to it that the uploader runs, and what to say when MLflow is not well. Needs no MLflow itself."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from pipeline.tracking.journal import (
    DEFAULT_URI,
    RUNNING,
    Record,
    all_records,
    public_uri,
    records_folder,
    tracking_uri,
)

_PACKAGE_PARENT = Path(__file__).resolve().parents[2]
_SQLITE_MAGIC = b"SQLite format 3\0"
_PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
"""A server that is down should be known as down in seconds, not in MLflow's minutes."""


def is_uploading(root: Path) -> bool:
    """Whether an uploader process of this workspace runs."""
    folder = records_folder(root)
    if not folder.is_dir():
        return False
    try:
        with FileLock(folder / "upload.lock", timeout=0):
            return False
    except Timeout:
        return True


def ensure_uploader(root: Path) -> None:
    """Start the uploader unless it runs. Raises OSError.

    It gets a session of its own, so that it outlives a stage that is killed and can close its run, and no pipe of the
    stage's, so that nobody who reads the stage's output waits for it. The shell in between leaves it to init to reap.
    """
    if is_uploading(root):
        return
    (records_folder(root) / "error").unlink(missing_ok=True)
    path = os.pathsep.join(filter(None, (str(_PACKAGE_PARENT), os.environ.get("PYTHONPATH"))))
    with (records_folder(root) / "upload.log").open("ab") as log:
        subprocess.run(
            ["/bin/sh", "-c", '"$@" &', "sh", sys.executable, "-m", "pipeline.tracking.upload"],
            cwd=root,
            env=_PATIENCE | os.environ | {"PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            check=False,
        )


def pending(root: Path) -> list[Record]:
    """Ended records that are not wholly in MLflow."""
    return [record for record in all_records(root) if _is_pending(record)]


def wait_for_uploads(root: Path, seconds: float) -> list[Record]:
    """Upload what is pending, waiting `seconds` at most; returns what is pending still. Raises OSError."""
    left = pending(root)
    if not left:
        return left
    ensure_uploader(root)
    trouble = records_folder(root) / "error"
    until = time.monotonic() + seconds
    while left and time.monotonic() < until and not trouble.exists():
        time.sleep(0.2)
        left = [record for record in left if _is_pending(record)]
    return left


def complaint(root: Path) -> str | None:
    """Why runs cannot be uploaded just now, in a few words; None when nothing is known to be wrong."""
    with contextlib.suppress(OSError):
        return (records_folder(root) / "error").read_text(encoding="utf-8")
    parts = urlsplit(tracking_uri())
    if parts.scheme in {"http", "https"}:
        return _unreachable(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    return _no_database(root / parts.path.removeprefix("/")) if parts.scheme == "sqlite" else None


def warning(root: Path) -> str | None:
    """The one line a stage prints when MLflow is not well."""
    why = complaint(root)
    if why is None:
        return None
    return (
        f"tracking: MLflow at {public_uri()} does not take runs ({why}); the work goes on, its record is kept in "
        ".work/tracking and uploaded by the next run, or by `python -m pipeline tracking sync`"
    )


def old_store_notice(root: Path) -> str | None:
    """A line for those whose runs lie in the file store that older MLflow wrote."""
    old = root / "mlruns"
    if tracking_uri() != DEFAULT_URI or (root / "mlflow.db").exists() or not old.is_dir() or not any(old.iterdir()):
        return None
    return (
        "tracking: mlruns/ holds runs of MLflow's old file store, which are not shown beside those in mlflow.db; "
        "`mlflow migrate-filestore --help` tells how to bring them over"
    )


def _is_pending(record: Record) -> bool:
    state = record.read_state()
    if state.status not in (None, RUNNING) and not record.unread(state):
        return False
    return record.last_status() != RUNNING


def _unreachable(host: str, port: int) -> str | None:
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError as error:
        return f"{host}:{port}: {error.strerror or error}"
    return None


def _no_database(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            head = stream.read(len(_SQLITE_MAGIC))
    except FileNotFoundError:
        return None if os.access(path.parent, os.W_OK) else f"{path.parent}: cannot write here"
    except OSError as error:
        return f"{path}: {error.strerror}"
    return None if not head or head == _SQLITE_MAGIC else f"{path}: not a sqlite database; move it away"
