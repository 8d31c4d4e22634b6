"""The flow's stages are those of dvc.yaml."""

from pathlib import Path

from flows.wiring import PIPELINE
from pipeline.tracking.graph import direct_upstream, read_stages

ROOT = Path(__file__).resolve().parents[2]


def test_the_flow_has_the_stages_and_edges_of_dvc_yaml() -> None:
    stages = read_stages(ROOT)
    assert {name: direct_upstream(stages, name) for name in stages} == dict(PIPELINE)


def test_every_stage_stands_behind_those_it_waits_for() -> None:
    order = list(PIPELINE)
    assert all(order.index(other) < order.index(name) for name, before in PIPELINE.items() for other in before)
