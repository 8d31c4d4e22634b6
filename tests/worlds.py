"""The worlds that the committed params name, for tests of what is handed them."""

from pipeline.environments.worlds import load_worlds
from pipeline.params import load_params
from tests.conftest import ROOT

WORLDS = load_worlds(load_params(ROOT / "params.yaml").environments)
CLAIMS = WORLDS["claims"]
