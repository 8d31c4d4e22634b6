"""Runs from a stage into a real MLflow store."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from mlflow import MlflowClient
from mlflow.entities import Run as MlflowRun

from pipeline.errors import EmptyOutputError
from pipeline.params import load_params
from pipeline.tables import write_json
from pipeline.tracking import find_run, pipeline_run, stage_run, sync_pending
from pipeline.tracking.background import pending
from pipeline.tracking.journal import records_folder, tracking_uri
from pipeline.tracking.lineage import pipeline_facts, stage_facts
from pipeline.tracking.upload import Uploader
from tests.tracking.workspace import make_workspace

KILLED_STAGE = """
import os
from pipeline.params import load_params
from pipeline.tracking import stage_run
with stage_run("make", load_params()) as run:
    run.log_metrics({"reward": 0.25}, step=1)
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with MLflow's tables, which take seconds to make."""
    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_store: Path) -> Path:
    """The current folder: a workspace with an empty MLflow store beside it."""
    shutil.copy(empty_store, tracking_uri().removeprefix("sqlite:///"))
    return make_workspace(tmp_path, monkeypatch)


@pytest.fixture
def no_uploader(workspace: Path) -> Iterator[None]:
    """Uploading is what the test does itself."""
    folder = records_folder(workspace)
    folder.mkdir(parents=True)
    with FileLock(folder / "upload.lock"):
        yield


def runs() -> dict[str, list[MlflowRun]]:
    """Every run in MLflow by name, newest first."""
    client = MlflowClient(tracking_uri())
    found: dict[str, list[MlflowRun]] = {}
    for run in client.search_runs([experiment.experiment_id for experiment in client.search_experiments()]):
        found.setdefault(str(run.info.run_name), []).append(run)
    return found


@pytest.mark.usefixtures("no_uploader")
def test_a_stage_tells_where_it_comes_from(workspace: Path) -> None:
    params = load_params()
    with stage_run("make", params) as run:
        run.log_metrics({"pass@1": 0.5, "nothing": None}, step=3)
        run.log_metrics({"pass@1": 0.75}, step=4)
        write_json(workspace / "metrics" / "make.json", {"rows": 7, "dropped": {"too_long": 2}})
    Uploader(workspace).pass_over()
    facts, pipeline = stage_facts(workspace, "make"), pipeline_facts(workspace)
    (made,) = runs()["make"]
    tags = made.data.tags
    assert made.info.status == "FINISHED"
    assert tags["commit"] == pipeline.commit
    assert tags["dirty"] == "false"
    assert tags["dvc_stage"] == "make"
    assert tags["stage_hash"] == facts.hash
    assert tags["seed"] == str(params.seed)
    assert tags["input.make.py"] == facts.inputs["make.py"]
    assert made.data.params["sft.learning_rate"] == str(params.sft.learning_rate)
    assert made.data.metrics == {"pass_at_1": 0.75, "rows": 7.0, "dropped.too_long": 2.0}
    client = MlflowClient(tracking_uri())
    assert [metric.step for metric in client.get_metric_history(made.info.run_id, "pass_at_1")] == [3, 4]
    assert [artifact.path for artifact in client.list_artifacts(made.info.run_id)] == ["make.json"]
    parent = client.get_run(tags["mlflow.parentRunId"])
    assert parent.info.status == "FINISHED"
    assert parent.data.tags["pipeline_hash"] == pipeline.hash
    assert parent.data.metrics["make.rows"] == 7.0


@pytest.mark.usefixtures("no_uploader")
def test_stages_and_the_flow_share_one_parent_and_name_what_they_used(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = load_params()
    with pipeline_run(workspace):
        with stage_run("make", params):
            pass
        Uploader(workspace).pass_over()
        (parent,) = (run for group in runs().values() for run in group if run.data.tags["kind"] == "pipeline")
        assert parent.info.status == "RUNNING"
        _lock_make(workspace)
        monkeypatch.setenv("DVC_STAGE", "score@rl-eval")
        with stage_run("score", params):
            pass
    Uploader(workspace).pass_over()
    found = runs()
    (made,), (scored,) = found["make"], found["score@rl-eval"]
    assert made.data.tags["mlflow.parentRunId"] == scored.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert scored.data.tags["upstream.make"] == made.info.run_id
    assert scored.inputs is not None
    assert [entry.dataset.name for entry in scored.inputs.dataset_inputs] == ["data/made.txt"]
    assert MlflowClient(tracking_uri()).get_run(parent.info.run_id).info.status == "FINISHED"


@pytest.mark.usefixtures("no_uploader")
def test_a_stage_of_a_matrix_is_named_by_the_run_that_used_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "data" / "rl-eval.txt").write_text("scored\n", encoding="utf-8")
    monkeypatch.setenv("DVC_STAGE", "score@rl-eval")
    with stage_run("score", load_params()):
        pass
    Uploader(workspace).pass_over()
    _lock(workspace, "score@rl-eval", "python score.py rl eval")
    monkeypatch.setenv("DVC_STAGE", "close")
    with stage_run("close", load_params()):
        pass
    Uploader(workspace).pass_over()
    found = runs()
    (scored,), (closed,) = found["score@rl-eval"], found["close"]
    assert closed.data.tags["upstream.score_at_rl-eval"] == scored.info.run_id


@pytest.mark.usefixtures("no_uploader")
def test_a_stage_that_was_not_run_again_is_linked_to_the_run_that_made_its_outs(workspace: Path) -> None:
    with stage_run("make", load_params()):
        pass
    made_by = stage_facts(workspace, "make").hash
    uploader = Uploader(workspace)
    uploader.pass_over()
    (workspace / "data" / "raw").mkdir()
    (workspace / "data" / "raw" / "more.jsonl").write_text("{}\n", encoding="utf-8")  # another pipeline run
    with pipeline_run(workspace) as parent:
        parent.log_reused({"make": made_by})
    uploader.pass_over()
    (made,) = runs()["make"]
    reused = [run.data.tags.get("reused.make") for group in runs().values() for run in group]
    assert reused.count(made.info.run_id) == 1
    link = find_run(workspace, made_by)
    assert link is not None
    assert link.run_id == made.info.run_id


@pytest.mark.usefixtures("no_uploader")
def test_a_killed_stage_is_closed_and_then_continued(workspace: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED_STAGE], env=_environment(), check=False)
    uploader = Uploader(workspace)
    uploader.pass_over()
    uploader.pass_over()
    (made,) = runs()["make"]
    assert made.info.status == "KILLED"
    with stage_run("make", load_params()) as run:
        run.log_metrics({"reward": 0.5}, step=2)
    uploader.pass_over()
    (again,) = runs()["make"]
    assert again.info.run_id == made.info.run_id
    assert again.info.status == "FINISHED"
    history = MlflowClient(tracking_uri()).get_metric_history(made.info.run_id, "reward")
    assert [(metric.step, metric.value) for metric in history] == [(1, 0.25), (2, 0.5)]


@pytest.mark.usefixtures("no_uploader")
def test_a_failed_stage_is_failed_and_its_error_goes_on(workspace: Path) -> None:
    with pytest.raises(EmptyOutputError, match="nothing is left"), stage_run("make", load_params()):
        raise EmptyOutputError("nothing is left")
    Uploader(workspace).pass_over()
    (made,) = runs()["make"]
    assert made.info.status == "FAILED"
    assert made.data.tags["error"] == "EmptyOutputError: nothing is left"


@pytest.mark.usefixtures("no_uploader")
def test_more_params_and_metrics_than_one_call_takes(workspace: Path) -> None:
    extra = "\n".join(f"  key{index}: {index}" for index in range(250))
    with (workspace / "params.yaml").open("a", encoding="utf-8") as stream:
        stream.write(f"extra:\n  long: {'x' * 7000}\n{extra}\n")
    text = (workspace / "dvc.yaml").read_text(encoding="utf-8").replace("params: [seed, sft]", "params: [extra]")
    (workspace / "dvc.yaml").write_text(text, encoding="utf-8")
    params = load_params(Path(__file__).resolve().parents[2] / "params.yaml")
    with stage_run("make", params) as run:
        run.log_metrics({f"m{index}": index for index in range(1100)})
    Uploader(workspace).pass_over()
    (made,) = runs()["make"]
    assert len(made.data.params) == 252
    assert len(made.data.params["extra.long"]) == 6000
    assert len(made.data.metrics) == 1100


@pytest.mark.slow
def test_mlflow_down_is_one_line_and_the_record_is_uploaded_later(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = Path(tracking_uri().removeprefix("sqlite:///"))
    database.write_text("this is no database, but long enough to look at", encoding="utf-8")
    done = False
    with stage_run("make", load_params()) as run:
        run.log_metrics({"reward": 0.5})
        done = True
    assert done
    complaints = capsys.readouterr().err.splitlines()
    assert len(complaints) == 1
    assert "not a sqlite database" in complaints[0]
    assert len(pending(workspace)) == 1
    database.unlink()
    sync = sync_pending(workspace, seconds=120)
    assert (sync.uploaded, sync.pending, sync.trouble) == (1, 0, None)
    (made,) = runs()["make"]
    assert made.data.metrics == {"reward": 0.5}


def test_a_server_that_is_down_is_one_line(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://user:secret@127.0.0.1:9")
    with stage_run("make", load_params()) as run:
        run.log_metrics({"reward": 0.5})
    (line,) = capsys.readouterr().err.splitlines()
    assert "MLflow at http://127.0.0.1:9 does not take runs" in line
    assert "secret" not in line
    assert "secret" not in "".join(path.read_text() for path in (workspace / ".work").rglob("events.jsonl"))


def test_a_disk_that_cannot_be_written_stops_nothing(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / ".work").write_text("a file where the folder should be", encoding="utf-8")
    with stage_run("make", load_params()) as run:
        run.log_metrics({"reward": 0.5})
        run.log_artifact(workspace / "make.py")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tracking: no run is recorded")


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}


def _lock_make(workspace: Path) -> None:
    """Leave the dvc.lock that DVC leaves after `make`."""
    _lock(workspace, "make", "python make.py")


def _lock(workspace: Path, stage: str, command: str) -> None:
    facts = stage_facts(workspace, stage)
    entry = {
        "cmd": command,
        "deps": [{"path": path, "hash": "md5", "md5": md5} for path, md5 in facts.inputs.items()],
        "params": {"params.yaml": facts.params},
    }
    write_json(workspace / "dvc.lock", {"schema": "2.0", "stages": {stage: entry}})
