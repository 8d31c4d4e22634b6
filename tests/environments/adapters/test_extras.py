"""An environment whose library is not installed says which, and how to install it."""

import sys
from pathlib import Path

import pytest

from pipeline.environments.worlds import load_worlds
from pipeline.errors import InputError
from pipeline.params import EnvironmentsParams


def test_a_library_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "riddles.verifiers.yaml").write_text("taskset: riddles\n")
    monkeypatch.setitem(sys.modules, "verifiers", None)
    loaded = ("verifiers.", "pipeline.environments.adapters.verifiers_")
    for known in [name for name in sys.modules if name.startswith(loaded)]:
        monkeypatch.delitem(sys.modules, known)
    with pytest.raises(InputError, match=r"riddles\.verifiers\.yaml: needs the library verifiers .*'\.\[verifiers\]'"):
        load_worlds(EnvironmentsParams.model_validate({"names": ["riddles"], "folder": str(tmp_path)}))
