from pathlib import Path

import pytest

from pipeline.errors import ModelError
from pipeline.training.base import make_base
from tests.training.tiny import SHAPE, make, texts


def test_tiny_is_built_from_texts(tmp_path: Path) -> None:
    assert make_base(SHAPE, 1, texts(40), tmp_path / "base") == "tiny"
    again = make(tmp_path / "again")
    assert (tmp_path / "base" / "tokenizer.json").read_bytes() == (again / "tokenizer.json").read_bytes()


def test_a_local_folder_is_copied_as_it_is(tmp_path: Path) -> None:
    source = make(tmp_path / "mine")
    params = SHAPE.model_copy(update={"model": str(source)})
    assert make_base(params, 1, (), tmp_path / "base") == str(source)
    assert {p.name: p.read_bytes() for p in source.iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "base").iterdir()
    }


def test_a_name_that_is_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="neither `tiny` nor an existing folder nor a hub id"):
        make_base(SHAPE.model_copy(update={"model": "/no/such/folder"}), 1, (), tmp_path / "base")


def test_offline_a_hub_id_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ModelError, match="'nobody/nothing': no folder of that name, and the hub did not give it"):
        make_base(SHAPE.model_copy(update={"model": "nobody/nothing"}), 1, (), tmp_path / "base")
    assert not (tmp_path / "base").exists()
