"""The doctor names the fix for each fault it knows."""

from pathlib import Path

import pytest

from pipeline.doctor import check_companions, check_lock, diagnose
from tests.conftest import ROOT


def test_the_locked_environment_is_sound() -> None:
    assert diagnose(ROOT / "requirements.lock", imports=False) == []


def test_another_version_names_package_and_command(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("polars==0.1\nno-such-package==9\n")
    (fault,) = check_lock(lock)
    assert "polars is " in fault
    assert "the lock says 0.1 (and 1 more)" in fault
    assert f"pip install --no-deps -r {lock}" in fault


def test_a_missing_lock_is_one_fault(tmp_path: Path) -> None:
    (fault,) = check_lock(tmp_path / "requirements.lock")
    assert "no such file; run in the project's folder" in fault


def test_a_torchvision_that_does_not_fit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text('raise RuntimeError("operator torchvision::nms does not exist")\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (fault,) = check_companions()
    assert "torchvision cannot be imported beside this torch" in fault
    assert "pip uninstall --yes torchvision" in fault
