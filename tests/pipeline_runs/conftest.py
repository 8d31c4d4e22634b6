"""One unbroken run of the whole pipeline, shared by every test that looks at its results."""

import pytest

from tests.pipeline_runs.workspace import Workspace, clone


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A clone in which `dvc repro` ran every stage with the smoke preset. Read it, copy it; do not change it."""
    workspace = clone(tmp_path_factory.mktemp("smoke") / "clone", "smoke")
    workspace.repro()
    return workspace
