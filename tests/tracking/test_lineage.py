"""The facts that identify a run."""

import os
import sys
from pathlib import Path

import pytest
from dvc.repo import Repo

from pipeline.tracking.hashing import Hasher
from pipeline.tracking.lineage import pipeline_facts, stage_facts, stage_hash
from tests.tracking.workspace import git, make_workspace


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_workspace(tmp_path, monkeypatch)


def test_the_demos_own_traces_do_not_change_a_pipeline_run(workspace: Path) -> None:
    raw = workspace / "data" / "raw"
    raw.mkdir()
    (raw / "mine.jsonl").write_text("{}\n", encoding="utf-8")
    before = pipeline_facts(workspace)
    (raw / "demo").mkdir()
    (raw / "demo" / "runs.jsonl").write_text("{}\n", encoding="utf-8")
    (raw / ".gitignore").write_text("/demo\n", encoding="utf-8")
    assert pipeline_facts(workspace).hash == before.hash
    (raw / "mine.jsonl").write_text("{ }\n", encoding="utf-8")
    assert pipeline_facts(workspace).hash != before.hash


def test_dvc_lock_does_not_make_a_workspace_dirty_but_code_does(workspace: Path) -> None:
    (workspace / "dvc.lock").write_text("stages: {}\n", encoding="utf-8")
    assert not pipeline_facts(workspace).dirty
    (workspace / "new.py").write_text("", encoding="utf-8")
    facts = pipeline_facts(workspace)
    assert facts.dirty
    assert facts.commit == git(workspace, "rev-parse", "HEAD")


def test_outside_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert pipeline_facts(tmp_path).commit == "none"


def test_a_stage_is_known_by_what_dvc_decides_by(workspace: Path) -> None:
    facts = stage_facts(workspace, "make")
    assert set(facts.inputs) == {"make.py"}
    assert set(facts.params) == {"seed", "sft"}
    assert facts.hash == stage_hash("make", "python make.py", facts.inputs, facts.params)
    (workspace / "make.py").write_text("print('otherwise')\n", encoding="utf-8")
    assert stage_facts(workspace, "make").hash != facts.hash


def test_a_matrix_stage_is_found_by_dvcs_name_or_by_its_command(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["score.py", "rl", "eval"])
    assert stage_facts(workspace, "score").name == "score@rl-eval"
    monkeypatch.setenv("DVC_STAGE", "score@sft-valid")
    assert stage_facts(workspace, "score").name == "score@sft-valid"


def test_hashes_equal_dvcs_own(workspace: Path) -> None:
    folder = workspace / "tree"
    for name in ("b.txt", "a/ä.txt", "a/c.txt", "a-b.txt", ".gitignore", "a/__pycache__/x.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name, encoding="utf-8")
    Repo.init(str(workspace)).close()
    with Repo(str(workspace)) as repo:
        (stage,) = repo.add(str(folder), no_commit=True)
        assert Hasher(workspace).hash("tree") == stage.outs[0].hash_info.value


def test_large_files_are_hashed_once(workspace: Path) -> None:
    large = workspace / "data" / "large.bin"
    large.write_bytes(b"0" * (1 << 20))
    hasher = Hasher(workspace)
    first = hasher.hash("data/large.bin")
    hasher.save()
    assert "data/large.bin" in (workspace / ".work" / "hashes.json").read_text(encoding="utf-8")
    assert Hasher(workspace).hash("data/large.bin") == first
    large.write_bytes(b"1" * (1 << 20))
    assert Hasher(workspace).hash("data/large.bin") != first


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    os.mkfifo(tmp_path / "raw" / "pipe")
    with pytest.raises(OSError, match=r"not a regular file: .*pipe"):
        Hasher(tmp_path).hash("raw")
