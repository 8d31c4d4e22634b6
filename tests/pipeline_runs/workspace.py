"""A clean clone of this checkout in which the pipeline really runs."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from pipeline.presets import apply_preset
from tests.conftest import ROOT

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Workspace:
    """A folder with the project's files in a git repository of its own, and nothing that an earlier run made."""

    root: Path

    def run(self, *command: str, **extra: str) -> Done:
        """Run a command to its end with this interpreter's folder first on PATH; `extra` goes into its environment."""
        return subprocess.run(
            command, cwd=self.root, env=environment(**extra), capture_output=True, text=True, check=False
        )

    def start(self, *command: str) -> "subprocess.Popen[str]":
        """Start a command as the leader of a process group of its own; its output goes to `run.log`."""
        with (self.root / ".git" / "run.log").open("w") as log:
            return subprocess.Popen(
                command, cwd=self.root, env=environment(), stdout=log, stderr=log, text=True, start_new_session=True
            )

    def repro(self, *arguments: str) -> Done:
        """`dvc repro`; fails the test with what it printed when it does not succeed."""
        done = self.run("dvc", "repro", *arguments)
        assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done

    def stage(self, name: str, *arguments: str) -> Done:
        """Run one stage alone."""
        return self.run("python", "-m", f"pipeline.stages.{name}", *arguments)

    def lock(self) -> dict[str, Any]:
        """The stages of dvc.lock."""
        stages: dict[str, Any] = YAML(typ="safe").load(self.root / "dvc.lock")["stages"]
        return stages

    def outs(self) -> dict[str, str]:
        """Hash of each out, metric and plot, by path, over all stages of dvc.lock."""
        return {out["path"]: out["md5"] for stage in self.lock().values() for out in stage.get("outs", [])}

    def forget(self, stage: str) -> None:
        """Drop what a stage made and its entry in dvc.lock, as if it had never run: DVC restores from either."""
        path, yaml = self.root / "dvc.lock", YAML()
        document = yaml.load(path.read_text())
        for out in document["stages"].pop(stage)["outs"]:
            made = self.root / out["path"]
            shutil.rmtree(made) if made.is_dir() else made.unlink()
        with path.open("w") as stream:
            yaml.dump(document, stream)

    def edit(self, old: str, new: str) -> None:
        """Replace text that occurs once in params.yaml."""
        path = self.root / "params.yaml"
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
        path.write_text(text.replace(old, new))

    def leftovers(self) -> list[str]:
        """Temporary files that a writer left behind."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*.tmp") if ".dvc" not in path.parts)

    def copy(self, target: Path) -> "Workspace":
        """A copy with all results, but without what could restore a stage instead of running it."""
        shutil.copytree(self.root, target, symlinks=True)
        for scratch in (".work", ".dvc/cache/runs", ".dvc/tmp"):
            shutil.rmtree(target / scratch, ignore_errors=True)
        return Workspace(target)


def clone(target: Path, preset: str) -> Workspace:
    """Lay the checkout's files (tracked or not, ignored ones left out) into `target`, commit, set `preset`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if name != "dvc.lock" and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    apply_preset(preset, target / "params.yaml")
    workspace = Workspace(target)
    git = ("git", "-c", "user.name=test", "-c", "user.email=test@example.org")
    for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "A clone for a test")):
        done = workspace.run(*git, *command)
        assert done.returncode == 0, done.stderr
    return workspace


def environment(**extra: str) -> dict[str, str]:
    """What a user's shell would hold, with this interpreter first on PATH, none of the test run's settings."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("MLFLOW_", "PREFECT_", "PYTEST_"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    quiet = {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "HF_HUB_OFFLINE": "1"}
    return {**kept, **quiet, "PATH": path, **extra}
