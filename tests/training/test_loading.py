from pathlib import Path

import pytest

from pipeline.errors import ModelError
from pipeline.training.loading import copy_model, load_model, load_tokenizer, save_model, whole_folder
from tests.training.tiny import make


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("tiny") / "base")


def test_saving_what_was_loaded_changes_no_byte(folder: Path, tmp_path: Path) -> None:
    save_model(load_model(folder), load_tokenizer(folder), tmp_path / "again")
    for path in folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_copy_takes_neither_code_nor_pickles(folder: Path, tmp_path: Path) -> None:
    copy_model(folder, tmp_path / "source")
    for name in ("modeling_evil.py", "training_args.bin", "pytorch_model.bin"):
        (tmp_path / "source" / name).write_bytes(b"x")
    copy_model(tmp_path / "source", tmp_path / "copy")
    assert {path.name for path in (tmp_path / "copy").iterdir()} == {path.name for path in folder.iterdir()}


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "old").write_text("old")
    with whole_folder(target) as fresh:
        (fresh / "new").write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in target.iterdir()] == ["new"]


def fill_and_fail(target: Path) -> None:
    with whole_folder(target) as fresh:
        (fresh / "new").write_text("half")
        raise OSError("disk full")


def test_a_folder_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "old").write_text("old")
    with pytest.raises(OSError, match="disk full"):
        fill_and_fail(target)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in target.iterdir()] == ["old"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (None, "no such folder; run the stage"),
        ((), r"no config\.json in it"),
        (("config.json",), r"no \*\.safetensors in it"),
        (("config.json", "pytorch_model.bin"), r"no \*\.safetensors in it"),
        (("config.json", "model.safetensors"), "the model cannot be loaded"),
    ],
)
def test_what_is_no_model_is_refused_by_name(tmp_path: Path, files: tuple[str, ...] | None, message: str) -> None:
    folder = tmp_path / "model"
    if files is not None:
        folder.mkdir()
        for name in files:
            (folder / name).write_text("{}")
    with pytest.raises(ModelError, match=f"{folder}: {message}"):
        load_model(folder)


def test_a_missing_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        load_tokenizer(tmp_path / "model")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="the tokenizer cannot be loaded"):
        load_tokenizer(tmp_path)
