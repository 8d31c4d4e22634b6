"""A toy repository of three stages, and a flow over it that runs in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.tracking.workspace import git

ROOT = Path(__file__).resolve().parents[2]

STAGE = """
import json, pathlib, sys, time
from pipeline.errors import InputError
from pipeline.params import load_params
from pipeline.tracking import stage_run
name = sys.argv[1]
pathlib.Path("pids").mkdir(exist_ok=True)
pathlib.Path(f"pids/{name}").write_text(str(__import__("os").getpid()))
try:
    with stage_run(name, load_params()) as run:
        for step in range(3):
            run.log_metrics({"reward": step / 4}, step)
            print(f"{name} {step + 1}/3", flush=True)
        while pathlib.Path(f"hold-{name}").exists():
            time.sleep(0.05)
        if pathlib.Path(f"fail-{name}").exists():
            raise InputError("no rows; give it some")
        pathlib.Path(f"{name}.txt").write_text(name)
        pathlib.Path(f"{name}.json").write_text(json.dumps({"rows": 3}))
except InputError as error:
    print(f"{name}: {error}", file=sys.stderr)
    sys.exit(1)
"""

GITIGNORE = "/.work/ /.prefect/ /mlflow.db* /mlartifacts/ /pids/ /*.txt /*.json /hold-* /fail-*".replace(" ", "\n")

DVC_YAML = """
stages:
  first: {cmd: python stage.py first, deps: [stage.py], params: [seed], outs: [first.txt], metrics: [first.json]}
  second: {cmd: python stage.py second, deps: [first.txt], params: [seed], outs: [second.txt], metrics: [second.json]}
  third: {cmd: python stage.py third, deps: [second.txt], params: [seed], outs: [third.txt], metrics: [third.json]}
"""

FLOW = """
import sys
from pathlib import Path
from flows import pipeline
from flows.cancel import settle_cancelled
from prefect import flow
WIRING = {"first": (), "second": ("first",), "third": ("second",)}
@flow(name="toy", persist_result=False, on_crashed=[settle_cancelled])
def toy(): return pipeline.run_stages(WIRING)
sys.exit(pipeline.guarded(Path(), lambda: print("ran:", *toy())))
"""


def make_toy(folder: Path) -> Path:
    """A committed repository with DVC set up and nothing run."""
    folder.mkdir(parents=True)
    for name in ("params.yaml", ".dvcignore"):
        shutil.copy(ROOT / name, folder / name)
    (folder / ".gitignore").write_text(GITIGNORE, encoding="utf-8")
    (folder / "stage.py").write_text(STAGE, encoding="utf-8")
    (folder / "flow.py").write_text(FLOW, encoding="utf-8")
    (folder / "dvc.yaml").write_text(DVC_YAML, encoding="utf-8")
    git(folder, "init", "--quiet")
    subprocess.run([sys.executable, "-m", "dvc", "init", "--quiet"], cwd=folder, check=True)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "start")
    return folder


def environment() -> dict[str, str]:
    """Ours, with this Python first and MLflow's default place in the workspace."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PREFECT_", "MLFLOW_"))}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return kept | {"PATH": path, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def start_flow(folder: Path, prefect_url: str | None) -> "subprocess.Popen[str]":
    """The toy flow, its output in one pipe; with a Prefect server of its own where no address is given."""
    api = {"PREFECT_API_URL": prefect_url} if prefect_url else {}
    return subprocess.Popen(
        [sys.executable, "flow.py"],
        cwd=folder,
        env=environment() | api,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ask(api: str, path: str, body: dict[str, Any]) -> Any:
    """Answer of Prefect's API to a POST."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{api}/{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


def read_until(process: "subprocess.Popen[str]", text: str) -> str:
    """Output up to the first line that holds `text`; fails the test when it never comes."""
    seen = ""
    for line in process.stdout or ():
        seen += line
        if text in line:
            return seen
    pytest.fail(f"{text!r} did not come; the process said:\n{seen}")
