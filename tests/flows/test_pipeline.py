"""The flow against a real Prefect server, on a toy repository."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow import MlflowClient

from flows.servers import check_free, free_port, serving
from pipeline.errors import WorkspaceError
from pipeline.tracking.lineage import pipeline_facts
from tests.flows.test_child import is_gone, wait_for
from tests.flows.toy import ask, environment, make_toy, read_until, start_flow

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prefect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API of one Prefect server for all tests here."""
    folder = tmp_path_factory.mktemp("prefect")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(folder / ".prefect"))
        with serving(folder, {"prefect": free_port()}) as (server,):
            yield f"{server.url}/api"


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return make_toy(tmp_path / "toy")


def test_the_flow_leaves_the_lock_that_dvc_leaves_and_then_does_nothing(
    toy: Path, tmp_path: Path, prefect_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Path(shutil.copytree(toy, tmp_path / "plain"))
    subprocess.run([sys.executable, "-m", "dvc", "repro", "--quiet"], cwd=plain, env=environment(), check=True)
    flow = start_flow(toy, prefect_url)
    said, _ = flow.communicate()
    assert flow.returncode == 0, said
    shown = [line for line in said.splitlines() if line.endswith("/3")]
    assert said.splitlines()[-1] == "ran: first second third"
    assert shown == [f"{stage} {step}/3" for stage in ("first", "second", "third") for step in (1, 2, 3)]
    assert (toy / "dvc.lock").read_bytes() == (plain / "dvc.lock").read_bytes()
    again = start_flow(toy, prefect_url)
    said, _ = again.communicate()
    assert again.returncode == 0, said
    assert said.count("didn't change, skipping") == 3
    assert said.splitlines()[-1] == "ran:"
    assert (toy / "dvc.lock").read_bytes() == (plain / "dvc.lock").read_bytes()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{toy / 'mlflow.db'}")
    client = MlflowClient()
    runs = client.search_runs([client.search_experiments(filter_string="name = 'rehearsal'")[0].experiment_id])
    parents = {run.info.run_id for run in runs if run.data.tags["kind"] == "pipeline"}
    children = [run for run in runs if run.data.tags["kind"] == "stage"]
    assert len(parents) == 1
    assert sorted(run.data.tags["dvc_stage"] for run in children) == ["first", "second", "third"]
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == parents
    assert {run.data.tags["pipeline_hash"] for run in runs} == {pipeline_facts(toy).hash}


def test_a_failing_stage_is_one_line_and_ends_the_flow(toy: Path, prefect_url: str) -> None:
    (toy / "fail-second").touch()
    flow = start_flow(toy, prefect_url)
    said, _ = flow.communicate()
    assert flow.returncode == 1
    assert said.splitlines()[-1] == "error: stage second failed: no rows; give it some"
    assert "Traceback" not in said
    assert not (toy / "pids" / "third").exists()


def test_a_cancelled_flow_ends_its_stage_and_goes_on_later(toy: Path, prefect_url: str) -> None:
    (toy / "hold-second").touch()
    flow = start_flow(toy, prefect_url)
    read_until(flow, "second 3/3")
    flow.send_signal(signal.SIGTERM)
    said, _ = flow.communicate()
    assert flow.returncode == 130, said
    assert is_gone(wait_for(toy / "pids" / "second"))
    (toy / "hold-second").unlink()
    again = start_flow(toy, prefect_url)
    said, _ = again.communicate()
    assert again.returncode == 0, said
    assert "Stage 'first' didn't change, skipping" in said


def test_a_cancel_in_prefects_pages_ends_a_flow_that_was_started_by_hand(toy: Path, prefect_url: str) -> None:
    (toy / "hold-first").touch()
    flow = start_flow(toy, prefect_url)
    read_until(flow, "first 3/3")
    (run,) = ask(prefect_url, "flow_runs/filter", {"sort": "START_TIME_DESC", "limit": 1})
    ask(prefect_url, f"flow_runs/{run['id']}/set_state", {"state": {"type": "CANCELLING"}})
    said, _ = flow.communicate()
    assert flow.returncode == 130, said
    assert is_gone(wait_for(toy / "pids" / "first"))
    (run,) = ask(prefect_url, "flow_runs/filter", {"sort": "START_TIME_DESC", "limit": 1})
    assert run["state_type"] == "CANCELLED"


def test_a_killed_flow_takes_its_stage_and_its_own_server_with_it(toy: Path) -> None:
    (toy / "hold-first").touch()
    flow = start_flow(toy, None)
    seen = read_until(flow, "first 3/3")
    port = seen.partition("to be seen at http://127.0.0.1:")[2].split()[0]
    flow.kill()
    flow.wait()
    assert is_gone(wait_for(toy / "pids" / "first"))
    assert _is_free(int(port))


def test_a_second_run_waits_for_the_first(toy: Path, prefect_url: str) -> None:
    (toy / "hold-first").touch()
    first = start_flow(toy, prefect_url)
    read_until(first, "first 3/3")
    second = start_flow(toy, prefect_url)
    waits = read_until(second, "waiting for")
    assert f"waiting for process {first.pid} (the flow's stage first)" in waits
    (toy / "hold-first").unlink()
    assert first.communicate() is not None
    said, _ = second.communicate()
    assert (first.returncode, second.returncode) == (0, 0), said
    assert said.count("didn't change, skipping") == 3


def test_a_stage_that_plain_dvc_holds_is_waited_for(toy: Path, prefect_url: str) -> None:
    (toy / "hold-first").touch()
    plain = subprocess.Popen(
        [sys.executable, "-m", "dvc", "repro", "first"], cwd=toy, env=environment(), stdout=subprocess.PIPE, text=True
    )
    read_until(plain, "first 3/3")
    flow = start_flow(toy, prefect_url)
    read_until(flow, "waiting for another DVC process")
    (toy / "hold-first").unlink()
    plain.communicate()
    said, _ = flow.communicate()
    assert (plain.returncode, flow.returncode) == (0, 0), said


def _is_free(port: int) -> bool:
    """Whether nobody listens on `port` within half a minute."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            check_free("prefect", port)
        except WorkspaceError:
            time.sleep(0.1)
        else:
            return True
    return False


def test_an_address_where_nobody_listens_is_one_line(toy: Path) -> None:
    flow = start_flow(toy, f"http://127.0.0.1:{free_port()}/api")
    said, _ = flow.communicate()
    assert flow.returncode == 1
    assert said.splitlines()[-1].startswith("error: PREFECT_API_URL is http://127.0.0.1:")
    assert "Traceback" not in said
