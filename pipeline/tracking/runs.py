"""What stages and the flow call: a run around their work, with the facts of its lineage."""

import hashlib
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from pipeline.errors import InputError, RehearsalError, WorkspaceError
from pipeline.params import Params
from pipeline.tables import read_json
from pipeline.tracking.background import ensure_uploader, old_store_notice, warning
from pipeline.tracking.graph import StageSpec
from pipeline.tracking.journal import FAILED, FINISHED, KILLED, Record, open_record
from pipeline.tracking.lineage import PipelineFacts, StageFacts, pipeline_facts, stage_facts
from pipeline.tracking.values import flatten, numbers, param_text, safe_name

_MAX_ARTIFACT = 50 << 20
"""Bytes; a larger out is in DVC's cache under its hash and not copied into MLflow."""

_DATA = ("data/", "models/", "metrics/", "plots/")
"""Deps that are data, not code."""


@dataclass
class Run:
    """One stage's run. Its methods never raise for MLflow's sake: trouble is one line on stderr."""

    _record: Record | None = None
    _quiet: bool = False

    def log_metrics(self, metrics: Mapping[str, float | None], step: int = 0) -> None:
        """Log numbers at a step; names are brought into MLflow's alphabet, null and NaN are left out."""
        values = numbers(metrics)
        if values:
            self._append("metrics", step=int(step), values=values)

    def log_artifact(self, path: Path) -> None:
        """Keep a copy of a file or folder with the run, as it is now."""
        if self._record is None:
            return
        try:
            name = self._record.keep(path)
        except OSError as error:
            self._complain(f"tracking: {path} is not kept with the run ({error.strerror or error})")
        else:
            self._append("artifact", name=name)

    def _append(self, event: str, **values: Any) -> None:
        if self._record is None:
            return
        try:
            self._record.append(event, **values)
        except OSError as error:
            self._complain(f"tracking: the run's record cannot be written ({error}); the work goes on without it")

    def _complain(self, line: str | None) -> None:
        if line and not self._quiet:
            self._quiet = True
            print(line, file=sys.stderr, flush=True)


class PipelineRun(Run):
    """The parent of a pipeline's stage runs, as the flow holds it."""

    def log_reused(self, stages: Mapping[str, str]) -> None:
        """Name stages that were not run again, each with the hash of the run that made its outs."""
        self._append("reused", stages=dict(stages))


@contextmanager
def stage_run(stage: str, params: Params) -> Iterator[Run]:
    """Open the run of a stage around its work, in the current folder; an exception ends it as FAILED or KILLED.

    A run that was killed on its way is continued when the stage starts again with equal inputs and params.
    """
    root, run = Path(), Run()
    facts = _begin(run, root, stage, params)
    with _ended(run, root):
        yield run
        if facts is not None and facts.spec is not None:
            _log_results(run, facts.name, facts.spec)


@contextmanager
def pipeline_run(root: Path) -> Iterator[PipelineRun]:
    """Open the parent run for as long as a flow runs its stages."""
    run = PipelineRun()
    with _NoEscape(run):
        pipeline = pipeline_facts(root)
        run._record = _open(root, "pipeline", pipeline.hash, pipeline, {"name": "pipeline"})
    with _ended(run, root):
        yield run


def _begin(run: Run, root: Path, stage: str, params: Params) -> StageFacts | None:
    with _NoEscape(run):
        pipeline, facts = pipeline_facts(root), stage_facts(root, stage)
        run._record = _open(root, facts.name, facts.hash, pipeline, _stage_event(root, pipeline, facts, params))
        for line in (old_store_notice(root), warning(root)):
            run._complain(line)
        return facts
    return None


@dataclass
class _NoEscape:
    """Turns trouble with tracking itself into one line."""

    run: Run

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, (OSError, WorkspaceError)):
            return False
        self.run._record = None
        self.run._complain(f"tracking: no run is recorded ({error}); the work goes on without it")
        return True


@contextmanager
def _ended(run: Run, root: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        status = FAILED if isinstance(error, Exception) else KILLED
        reason = str(error) if isinstance(error, RehearsalError) else ""
        run._append("end", status=status, error=f"{type(error).__name__}: {reason}".rstrip(": ")[:500])
        raise
    else:
        run._append("end", status=FINISHED)
    finally:
        if run._record is not None:
            with _NoEscape(run):
                ensure_uploader(root)
                run._complain(warning(root))


def _open(root: Path, name: str, identity: str, pipeline: PipelineFacts, event: dict[str, Any]) -> Record:
    record = open_record(root, name, identity)
    record.start(pipeline_hash=pipeline.hash, parent=_parent(pipeline), **event)
    ensure_uploader(root)
    return record


def _parent(pipeline: PipelineFacts) -> dict[str, Any]:
    values = {safe_name(key): param_text(value) for key, value in flatten(pipeline.params)}
    name = f"{pipeline.params.get('preset', 'pipeline')} {pipeline.commit[:8]}"
    return {"name": name, "tags": {"kind": "pipeline", **_common(pipeline)}, "params": values}


def _common(pipeline: PipelineFacts) -> dict[str, str]:
    return {
        "pipeline_hash": pipeline.hash,
        "commit": pipeline.commit,
        "dirty": str(pipeline.dirty).lower(),
        "seed": str(pipeline.params.get("seed")),
        "preset": str(pipeline.params.get("preset")),
        "raw_data": pipeline.raw,
        "mlflow.source.git.commit": pipeline.commit,
        "mlflow.source.type": "LOCAL",
    }


def _stage_event(root: Path, pipeline: PipelineFacts, facts: StageFacts, params: Params) -> dict[str, Any]:
    tags = {
        "kind": "stage",
        **_common(pipeline),
        "dvc_stage": facts.name,
        "stage_hash": facts.hash,
        "seed": str(params.seed),
        "workspace": hashlib.sha256(f"{socket.gethostname()}:{root.resolve()}".encode()).hexdigest()[:12],
        "mlflow.source.name": facts.spec.cmd if facts.spec else facts.name,
        **{safe_name(f"input.{path}"): value for path, value in facts.inputs.items()},
    }
    values = {"seed": params.seed, **facts.params}
    return {
        "name": facts.name,
        "stage_hash": facts.hash,
        "tags": tags,
        "params": {safe_name(key): param_text(value) for key, value in flatten(values)},
        "inputs": {path: md5 for path, md5 in facts.inputs.items() if path.startswith(_DATA) and md5 != "missing"},
        "upstream": facts.upstream,
    }


def _log_results(run: Run, name: str, spec: StageSpec) -> None:
    """Log what the stage wrote for people: its metrics as numbers; metrics, plots and reports as files."""
    for path in map(Path, spec.metrics):
        if path.is_file():
            try:
                values = numbers(read_json(path))
            except InputError as error:
                run._complain(f"tracking: {error}")
            else:
                run._append("results", prefix=safe_name(name), values=values)
    shown = [*spec.metrics, *spec.plots, *(out for out in spec.outs if out.startswith("reports/"))]
    for path in map(Path, dict.fromkeys(shown)):
        if path.is_file() and path.stat().st_size <= _MAX_ARTIFACT:
            run.log_artifact(path)
