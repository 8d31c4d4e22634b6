"""Carries local records into MLflow: `python -m pipeline.tracking.upload`, one process for each workspace.

Importing MLflow and opening its store takes two to three seconds, which every one of the pipeline's many short stages
would pay. So a stage only writes its local record and sees to it that this process runs; it reads all open records a
few times a second, and ends when nothing has been written for a while. A run is therefore seen live, a stage that is
killed is closed as KILLED at once, and whatever MLflow does, training does not notice.
"""

import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pipeline.tracking.journal import (
    FAILED,
    FINISHED,
    KILLED,
    RUNNING,
    Record,
    State,
    all_records,
    is_alive,
    now_ms,
    records_folder,
)
from pipeline.tracking.store import FAILURES, Store
from pipeline.tracking.values import safe_name

POLL, LINGER = 0.3, 20.0
"""Seconds between two looks, and without any open record before the process ends."""

RETRY = 15.0
"""Seconds after a failure before MLflow is tried again, while a stage runs."""


class Uploader:
    """Replays records of one workspace into one MLflow."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._store = Store(root)
        self._linked: set[tuple[str, str]] = set()
        self._done: set[Path] = set()

    def pass_over(self) -> bool:
        """Upload what is new; returns whether a stage is still at work. Raises one of FAILURES."""
        at_work, trouble = False, None
        for record in all_records(self._root):
            if record.folder in self._done:
                continue
            try:
                at_work |= self._look_at(record)
            except FAILURES as error:
                trouble = trouble or error  # one record that MLflow refuses does not hold up the others
        if trouble is not None:
            raise trouble
        return at_work

    def _look_at(self, record: Record) -> bool:
        state = record.read_state()
        alive = is_alive(state.pid, state.process_started)
        if record.unread(state):
            self._replay(record, state)
        elif state.status == RUNNING and not alive:
            self._end(record, state, KILLED, now_ms())
        elif state.status in (FINISHED, FAILED):
            self._done.add(record.folder)
        return state.status == RUNNING

    def _replay(self, record: Record, state: State) -> None:
        rows: list[tuple[str, float, int, int]] = []
        offset = state.offset
        for event, offset in record.events(state.offset):
            if event["event"] == "metrics":
                rows += [(key, value, event["time"], event["step"]) for key, value in event["values"].items()]
                continue
            self._flush(record, state, rows, state.offset)
            self._apply(record, state, event)
            state.offset = offset
            record.write_state(state)
        self._flush(record, state, rows, offset)

    def _flush(self, record: Record, state: State, rows: list[tuple[str, float, int, int]], offset: int) -> None:
        if rows and state.run_id:
            self._store.metrics(state.run_id, rows)
            rows.clear()
        if offset != state.offset:
            state.offset = offset
            record.write_state(state)

    def _apply(self, record: Record, state: State, event: dict[str, Any]) -> None:
        if event["event"] == "start":
            self._start(record, state, event)
        elif event["event"] == "end":
            if state.run_id and event.get("error"):
                self._store.tags(state.run_id, {"error": event["error"]})
            self._end(record, state, event["status"], event["time"])
        elif state.run_id and event["event"] == "results":
            self._results(state, event)
        elif state.run_id and event["event"] == "artifact":
            self._artifact(state.run_id, record.artifacts / event["name"])
        elif state.parent_id and event["event"] == "reused":
            self._link(state.parent_id, event["stages"])

    def _start(self, record: Record, state: State, event: dict[str, Any]) -> None:
        state.pid, state.process_started = event["pid"], event["process_started"]
        state.pipeline_hash, state.stage_hash = event["pipeline_hash"], event.get("stage_hash")
        state.experiment_id = self._store.experiment_id
        state.parent_id = event.get("parent_run_id") or self._parent(event)
        if state.stage_hash is None:
            state.run_id = state.parent_id
        elif state.run_id is None:
            state.run_id = self._child(state.parent_id, event)
        state.status = RUNNING
        record.write_state(state)
        for run_id in {state.run_id, state.parent_id}:
            self._store.status(run_id, RUNNING, event["time"])
        self._link(state.parent_id, event.get("upstream", {}), state.run_id)

    def _parent(self, event: dict[str, Any]) -> str:
        found = self._store.find(kind="pipeline", pipeline_hash=event["pipeline_hash"])
        if found is not None:
            return str(found.info.run_id)
        parent = event["parent"]
        run_id = self._store.create(parent["name"], parent["tags"], event["time"])
        self._store.params(run_id, parent["params"])
        return run_id

    def _child(self, parent: str, event: dict[str, Any]) -> str:
        cut_off = self._store.find(stage_hash=event["stage_hash"], workspace=event["tags"]["workspace"])
        if cut_off is not None and cut_off.info.status == RUNNING:
            return str(cut_off.info.run_id)
        run_id = self._store.create(event["name"], event["tags"], event["time"], parent)
        self._store.params(run_id, event["params"])
        self._store.inputs(run_id, event["inputs"])
        return run_id

    def _results(self, state: State, event: dict[str, Any]) -> None:
        rows = [(key, value, event["time"], 0) for key, value in event["values"].items()]
        self._store.metrics(str(state.run_id), rows)
        if state.parent_id and state.parent_id != state.run_id:
            named = [(f"{event['prefix']}.{key}"[:250], *rest) for key, *rest in rows]
            self._store.metrics(state.parent_id, named)

    def _artifact(self, run_id: str, copy: Path) -> None:
        if not copy.exists():
            return
        self._store.artifact(run_id, copy)
        shutil.rmtree(copy) if copy.is_dir() else copy.unlink()

    def _link(self, parent: str, stages: dict[str, str], run_id: str | None = None) -> None:
        """Name the runs that made what was not made again, on the parent and on the run that used it."""
        made = {stage: self._store.find(stage_hash=stage_hash) for stage, stage_hash in stages.items()}
        found = {stage: run for stage, run in made.items() if run is not None}
        if run_id and run_id != parent:
            self._store.tags(run_id, {f"upstream.{safe_name(stage)}": run.info.run_id for stage, run in found.items()})
        foreign = {
            f"reused.{safe_name(stage)}": run.info.run_id
            for stage, run in found.items()
            if run.data.tags.get("mlflow.parentRunId") != parent and (parent, stage) not in self._linked
        }
        self._store.tags(parent, foreign)
        self._linked |= {(parent, stage) for stage in found}

    def _end(self, record: Record, state: State, status: str, time_ms: int) -> None:
        if state.run_id:
            self._store.status(state.run_id, status, time_ms)
        state.status = status
        record.write_state(state)
        if state.parent_id and state.parent_id != state.run_id and not self._others_at_work(state):
            self._store.status(state.parent_id, status, time_ms)

    def _others_at_work(self, ended: State) -> bool:
        states = (record.read_state() for record in all_records(self._root))
        return any(
            state.status == RUNNING
            and state.pipeline_hash == ended.pipeline_hash
            and is_alive(state.pid, state.process_started)
            for state in states
        )


def run(root: Path) -> None:
    """Upload until nothing is left and no stage has been at work for LINGER seconds; keep a failure in `error`."""
    folder = records_folder(root)
    trouble = folder / "error"
    uploader: Uploader | None = None
    quiet_since = time.monotonic()
    while folder.is_dir() and time.monotonic() - quiet_since < LINGER:
        try:
            uploader = uploader or Uploader(root)
            at_work = uploader.pass_over()
            trouble.unlink(missing_ok=True)
        except FAILURES as error:
            trouble.write_text(" ".join(str(error).split())[:300] or type(error).__name__, encoding="utf-8")
            uploader = None
            if not _somebody_at_work(root):
                return
            time.sleep(RETRY)
            continue
        if at_work:
            quiet_since = time.monotonic()
        time.sleep(POLL)


def _somebody_at_work(root: Path) -> bool:
    return any(record.last_status() == RUNNING for record in all_records(root))


def main() -> int:
    """Run in the current folder unless another uploader does so already."""
    folder = records_folder(Path())
    os.nice(5)
    try:
        with FileLock(folder / "upload.lock", timeout=0):
            run(Path())
    except Timeout:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
