"""What dvc.yaml and dvc.lock say."""

from pathlib import Path

import pytest

from pipeline.errors import WorkspaceError
from pipeline.tracking.graph import direct_upstream, read_lock, read_stages, upstream
from tests.tracking.workspace import make_workspace


def test_a_matrix_becomes_stages_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = read_stages(make_workspace(tmp_path, monkeypatch))
    assert list(stages) == ["make", "score@sft-valid", "score@sft-eval", "score@rl-valid", "score@rl-eval", "close"]
    assert stages["score@rl-eval"].cmd == "python score.py rl eval"
    assert stages["score@rl-eval"].outs == ("data/rl-eval.txt",)


def test_upstream_follows_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "dvc.yaml").write_text(
        "stages:\n"
        "  use: {cmd: c, deps: [data/raw], outs: [data/used]}\n"
        "  demo: {cmd: a, outs: [data/raw/demo]}\n"
        "  end: {cmd: d, deps: [data/used/part.txt]}\n"
        "  rawish: {cmd: e, outs: [data/rawish]}\n",
        encoding="utf-8",
    )
    stages = read_stages(tmp_path)
    assert direct_upstream(stages, "use") == ("demo",)
    assert upstream(stages, "end") == ("use", "demo")


def test_values_of_params_are_filled_in(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("own: {folder: worlds/mine}\n", encoding="utf-8")
    (tmp_path / "dvc.yaml").write_text(
        "stages:\n"
        "  run:\n"
        "    matrix: {split: [a, b]}\n"
        "    cmd: c ${item.split}\n"
        '    deps: ["${own.folder}", "${own.other}", "data/${item.split}"]\n',
        encoding="utf-8",
    )
    stages = read_stages(tmp_path)
    assert stages["run@b"].deps == ("worlds/mine", "${own.other}", "data/b")
    assert stages["run@b"].cmd == "c b"


def test_no_lock_is_no_entry(tmp_path: Path) -> None:
    assert read_lock(tmp_path) == {}


def test_a_broken_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / "dvc.lock").write_text("stages: [", encoding="utf-8")
    with pytest.raises(WorkspaceError, match=r"dvc\.lock: not valid YAML"):
        read_lock(tmp_path)
