"""A small workspace with git, dvc.yaml and dvc.lock to track runs in."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

DVC_YAML = """
stages:
  make:
    cmd: python make.py
    params: [seed, sft]
    deps: [make.py]
    outs: [data/made.txt]
    metrics: [metrics/make.json]
  score:
    matrix:
      model: [sft, rl]
      split: [valid, eval]
    cmd: python score.py ${item.model} ${item.split}
    params: [seed]
    deps: [score.py, data/made.txt]
    outs: ["data/${item.model}-${item.split}.txt"]
  close:
    cmd: python close.py
    deps: [data/rl-eval.txt]
"""


def make_workspace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed workspace that becomes the current folder."""
    shutil.copy(ROOT / "params.yaml", folder / "params.yaml")
    shutil.copy(ROOT / ".gitignore", folder / ".gitignore")
    shutil.copy(ROOT / ".dvcignore", folder / ".dvcignore")
    (folder / "dvc.yaml").write_text(DVC_YAML, encoding="utf-8")
    (folder / "make.py").write_text("print('made')\n", encoding="utf-8")
    (folder / "score.py").write_text("print('scored')\n", encoding="utf-8")
    (folder / "data").mkdir()
    (folder / "data" / "made.txt").write_text("made\n", encoding="utf-8")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "start")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Output of a git command with an author of its own."""
    author = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    done = subprocess.run(["git", *author, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()
