"""The one module that speaks to MLflow: finds, makes and fills runs.

It uses MlflowClient with explicit run ids, never the fluent API, whose active run belongs to a thread. A run is looked
for by its tags before it is made: a parent by `pipeline_hash`, a run that was cut off on its way by `stage_hash`.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import requests
from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID
from sqlalchemy.exc import SQLAlchemyError

from pipeline.tracking.journal import RUNNING, tracking_uri

EXPERIMENT = "rehearsal"
"""Name of the experiment unless MLFLOW_EXPERIMENT_NAME says otherwise."""

_METRICS, _PARAMS = 1000, 100
"""How many of each MLflow takes in one call."""

FAILURES = (MlflowException, SQLAlchemyError, requests.RequestException, OSError)
"""All that MLflow raises when it cannot be reached or written to."""

_MAX_TAG = 8000

_KIND = {"mlflow.experimentKind": "custom_model_development"}
"""Else MLflow opens the experiment on its page for traces of agents, which is empty."""

T = TypeVar("T")


class Store:
    """One experiment of one MLflow. Every method may raise MlflowException, OSError or SQLAlchemyError."""

    def __init__(self, root: Path) -> None:
        self._client = MlflowClient(tracking_uri=tracking_uri())
        self.experiment_id = self._experiment(root)

    def find(self, **tags: str) -> Run | None:
        """The newest run that carries all `tags`."""
        text = " and ".join(f"tags.`{key}` = '{value}'" for key, value in tags.items())
        found = self._client.search_runs([self.experiment_id], text, max_results=1, order_by=["start_time DESC"])
        return found[0] if found else None

    def create(self, name: str, tags: Mapping[str, str], start: int, parent: str | None = None) -> str:
        """Make a run named `name` that began at `start` (milliseconds since the epoch); returns its id."""
        own = {key: value[:_MAX_TAG] for key, value in tags.items()}
        if parent:
            own[MLFLOW_PARENT_RUN_ID] = parent
        return str(self._client.create_run(self.experiment_id, start, own, name).info.run_id)

    def params(self, run_id: str, values: Mapping[str, str]) -> None:
        """Log params; equal ones that are there already do no harm."""
        for part in _parts([Param(key, value) for key, value in values.items()], _PARAMS):
            self._client.log_batch(run_id, params=part)

    def metrics(self, run_id: str, rows: Sequence[tuple[str, float, int, int]]) -> None:
        """Log rows of name, value, time (milliseconds since the epoch) and step."""
        for part in _parts([Metric(*row) for row in rows], _METRICS):
            self._client.log_batch(run_id, metrics=part)

    def tags(self, run_id: str, values: Mapping[str, str]) -> None:
        """Set tags, old values replaced."""
        for part in _parts([RunTag(key, value[:_MAX_TAG]) for key, value in values.items()], _PARAMS):
            self._client.log_batch(run_id, tags=part)

    def inputs(self, run_id: str, hashes: Mapping[str, str]) -> None:
        """Log data that the run read: path to hash (md5, or md5 + `.dir`; both fit MLflow's 36 characters)."""
        tag = [InputTag("mlflow.data.context", "input")]
        found = [Dataset(path, digest, "local", json.dumps({"uri": path})) for path, digest in hashes.items()]
        if found:
            self._client.log_inputs(run_id, [DatasetInput(dataset, tag) for dataset in found])

    def artifact(self, run_id: str, path: Path) -> None:
        """Upload a file, or a folder under its own name."""
        if path.is_dir():
            self._client.log_artifacts(run_id, str(path), path.name)
        else:
            self._client.log_artifact(run_id, str(path))

    def status(self, run_id: str, status: str, time: int) -> None:
        """Open the run again or end it at `time` (milliseconds since the epoch)."""
        if status == RUNNING:
            self._client.update_run(run_id, status=RUNNING)
        else:
            self._client.set_terminated(run_id, status, time)

    def _experiment(self, root: Path) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        remote = urlsplit(tracking_uri()).scheme in {"http", "https"}
        place = None if remote else (root / "mlartifacts" / name).resolve().as_uri()
        return str(self._client.create_experiment(name, place, _KIND))


def _parts(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
