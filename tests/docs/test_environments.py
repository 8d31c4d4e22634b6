"""The environment that docs/environments.md shows is real: its rows are tasks, its golden calls solve them."""

import re
from pathlib import Path

from ruamel.yaml import YAML

from pipeline.environments.worlds import load_worlds
from pipeline.params import EnvironmentsParams, Params, load_params
from pipeline.synthesis.demos import demonstrate
from pipeline.synthesis.given import given_tasks
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The code blocks of a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_example_works_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "warehouse.py").write_text(blocks("python")[0], encoding="utf-8")
    (tmp_path / "warehouse.jsonl").write_text(blocks("json")[0], encoding="utf-8")
    worlds = load_worlds(EnvironmentsParams(names=("warehouse",), folder=str(tmp_path)))
    assert worlds["warehouse"].procedure == "Look an item up before you take it."
    tasks = given_tasks(worlds["warehouse"], seed=1)
    assert "few" in [task.template for task in tasks["eval"]]
    (demo,) = demonstrate(worlds, [task for some in tasks.values() for task in some])
    assert demo.outcome == 1.0


def test_the_values_shown_are_valid() -> None:
    values = load_params(ROOT / "params.yaml").model_dump()
    for block in blocks("yaml"):
        for section, shown in YAML(typ="safe").load(block).items():
            values[section] |= shown
    assert Params.model_validate(values).rollouts.inject.error_rate == 0.02
