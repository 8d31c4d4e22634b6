from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.training.run_folder import RunFolder, run_key


def stage(folder: RunFolder, name: str) -> Path:
    staged = folder.staging / name
    staged.mkdir(parents=True)
    (staged / "state").write_text(name)
    return staged


def test_the_newest_checkpoint_and_the_best_model_stay(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert folder.latest() is None
    for step in (0, 5, 10):
        folder.best(step).mkdir()
    folder.publish(stage(folder, "checkpoint-5"), 5, best_step=5)
    folder.publish(stage(folder, "checkpoint-10"), 10, best_step=5)
    latest = folder.latest()
    assert latest is not None
    assert (latest.name, (latest / "state").read_text()) == ("000010", "checkpoint-10")
    assert [path.name for path in latest.parent.iterdir()] == ["000010"]
    assert [path.name for path in tmp_path.glob("best-*")] == ["best-000005"]


def test_a_half_filled_checkpoint_is_not_seen(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    stage(folder, "checkpoint-5")
    assert folder.latest() is None


def test_the_key_hangs_on_values_and_contents(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    weights = tmp_path / "model" / "weights"
    weights.write_bytes(b"1")
    first = run_key({"seed": 1}, [tmp_path / "model"])
    assert run_key({"seed": 1}, [tmp_path / "model"]) == first
    assert run_key({"seed": 2}, [tmp_path / "model"]) != first
    weights.write_bytes(b"2")
    assert run_key({"seed": 1}, [tmp_path / "model"]) != first


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.parquet: no such file"):
        run_key({}, [tmp_path / "nothing.parquet"])
