"""The command line: one line and exit code 1 for a deliberate error."""

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pipeline", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_preset_says_what_changed(params_file: Path) -> None:
    done = run("preset", "smoke", cwd=params_file.parent)
    assert done.returncode == 0, done.stderr
    assert "preset: tiny -> smoke" in done.stdout
    assert "params.yaml: preset smoke," in done.stdout


def test_a_wrong_preset_is_one_line(params_file: Path) -> None:
    done = run("preset", "tinny", cwd=params_file.parent)
    assert done.returncode == 1
    assert done.stderr == "error: unknown preset 'tinny'; did you mean 'tiny'?\n"


def test_outside_the_project_the_message_says_so(tmp_path: Path) -> None:
    done = run("preset", "tiny", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "error: params.yaml: no such file; run in the project's folder\n"


def test_doctor_quick_finds_the_locked_environment_sound() -> None:
    done = run("doctor", "--quick", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "doctor: the environment is sound\n"
