"""What every test shares: paths, a tracking store of its own, and the switch that makes a skipped test a failure."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import pipeline  # noqa: F401 - first of all: what it sets must stand before any test module imports torch

ROOT = Path(__file__).resolve().parent.parent
TRACES = ROOT.parent / "shared" / "traces"

settings.register_profile("any_machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register `--no-skips`."""
    parser.addoption("--no-skips", action="store_true", help="fail when any test was skipped; what CI runs")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say why the run fails when `--no-skips` is broken."""
    skipped = len(terminalreporter.stats.get("skipped", []))
    if config.getoption("--no-skips") and skipped:
        terminalreporter.write_line(f"--no-skips: {skipped} skipped, see the reasons above", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run when `--no-skips` is broken, skips at collection included."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("--no-skips") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def own_tracking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes into the checkout's MLflow store or asks a hub."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def params_file(tmp_path: Path) -> Path:
    """A copy of the committed params.yaml to edit."""
    return Path(shutil.copy(ROOT / "params.yaml", tmp_path / "params.yaml"))


@pytest.fixture(scope="session")
def trace_folders() -> Path:
    """The folder of real trace files beside the checkout; skips where it is absent."""
    if not TRACES.is_dir():
        pytest.skip(f"no real trace files at {TRACES}")
    return TRACES
