"""`make ui` with a browser: the flow's graph in Prefect, two runs side by side in MLflow."""

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mlflow import MlflowClient
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from flows.servers import check_free, free_port
from tests.flows.toy import ask, environment, make_toy, read_until, start_flow

pytestmark = [pytest.mark.slow, pytest.mark.browser]

PATIENCE = 240.0
"""Seconds that a page may take on a machine with other work to do."""


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chrome]:
    """A headless Chromium that keeps its files in the test's folder."""
    binary, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("no chromium and chromedriver on the PATH (Debian: apt-get install chromium chromium-driver)")
    options = ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1500,1100"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={tmp_path / 'chromium'}")
    chrome = Chrome(options=options, service=Service(driver))
    chrome.set_page_load_timeout(PATIENCE)
    yield chrome
    chrome.quit()


def test_the_pages_show_the_graph_and_the_comparison(tmp_path: Path, browser: Chrome) -> None:
    toy, pictures = make_toy(tmp_path / "toy"), tmp_path / "screenshots"
    pictures.mkdir()
    ports = {"prefect": free_port(), "mlflow": free_port()}
    ui = _start_ui(toy, ports)
    try:
        read_until(ui, "Ctrl-C")
        _run(toy)
        _change_seed(toy)
        _run(toy)
        api = f"http://127.0.0.1:{ports['prefect']}"
        (flow_run,) = ask(f"{api}/api", "flow_runs/filter", {"sort": "START_TIME_DESC", "limit": 1})
        browser.get(f"{api}/runs/flow-run/{flow_run['id']}")
        _until(browser, lambda text: flow_run["name"] in text and "Completed" in text)
        time.sleep(5)  # the graph is drawn on a canvas, whose end nothing in the page tells
        browser.save_screenshot(str(pictures / "prefect-graph.png"))
        _click(browser, "Task Runs")
        _until(browser, lambda text: all(stage in text for stage in ("first", "second", "third")))
        browser.save_screenshot(str(pictures / "prefect-tasks.png"))
        _click(browser, "Artifacts")
        _until(browser, lambda text: "mlflow-third" in text.lower() and "metrics-third" in text.lower())
        browser.save_screenshot(str(pictures / "prefect-artifacts.png"))
        old, new = _two_runs(toy, "first")
        query = f'runs=["{old}","{new}"]&experiments=["1"]'
        browser.set_window_size(1500, 2200)
        browser.get(f"http://127.0.0.1:{ports['mlflow']}/#/compare-runs?{query}")
        _until(browser, lambda text: all(word in text for word in ("seed", "reward", "rows", "Comparing 2 Runs")))
        browser.save_screenshot(str(pictures / "mlflow-comparison.png"))
        print(f"screenshots: {pictures}")
    finally:
        ui.send_signal(signal.SIGTERM)
        said, _ = ui.communicate(timeout=120)
    assert ui.returncode == 0, said
    for name, port in ports.items():
        check_free(name, port)


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    toy = make_toy(tmp_path / "toy")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ui = _start_ui(toy, {"prefect": port, "mlflow": free_port()})
        said, _ = ui.communicate()
    assert ui.returncode == 1
    assert said.splitlines()[-1].startswith(f"ui: port {port} for prefect is taken")
    assert "Traceback" not in said


def _start_ui(toy: Path, ports: dict[str, int]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "flows.ui"]
    command += [argument for name, port in ports.items() for argument in (f"--{name}-port", str(port))]
    return subprocess.Popen(
        command, cwd=toy, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def _run(toy: Path) -> None:
    flow = start_flow(toy, None)
    said, _ = flow.communicate()
    assert flow.returncode == 0, said
    assert "starting a Prefect server" not in said


def _change_seed(toy: Path) -> None:
    text = (toy / "params.yaml").read_text(encoding="utf-8")
    (toy / "params.yaml").write_text(text.replace("seed: 1 ", "seed: 2 "), encoding="utf-8")


def _two_runs(toy: Path, stage: str) -> tuple[str, str]:
    """The stage's runs under both pipeline runs, once they are in MLflow."""
    client = MlflowClient(f"sqlite:///{toy / 'mlflow.db'}")
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        runs = client.search_runs(["1"], f"tags.dvc_stage = '{stage}' and attributes.status = 'FINISHED'")
        if len(runs) == 2:
            return str(runs[1].info.run_id), str(runs[0].info.run_id)
        time.sleep(0.5)
    pytest.fail(f"MLflow does not hold two finished runs of {stage}")


def _until(browser: Chrome, holds: Callable[[str], bool]) -> None:
    """Wait until the page's visible text fits; fails the test with that text."""
    until = time.monotonic() + PATIENCE
    text = ""
    while time.monotonic() < until:
        try:
            text = browser.find_element(By.TAG_NAME, "body").text
        except StaleElementReferenceException:
            continue
        if holds(text):
            return
        time.sleep(0.5)
    pytest.fail(f"the page says:\n{text}")


def _click(browser: Chrome, label: str) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = browser.find_elements(By.XPATH, f"//*[normalize-space(.)='{label}']")
        shown = [element for element in found if element.is_displayed()]
        if shown:
            shown[-1].click()  # the innermost comes last
            return
        time.sleep(0.5)
    pytest.fail(f"there is nothing called {label!r} to click")
