"""The page on drafts and replays names what there is."""

import re
from pathlib import Path

from typer.main import get_command

from pipeline.cli import app
from pipeline.environments.declared.reading import read_document
from pipeline.environments.replay import UNKNOWN, ReplaySpec
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "drafting.md").read_text()


def test_every_option_that_the_page_names_exists() -> None:
    command = get_command(app).commands["synthesize"].commands["spec"]  # type: ignore[attr-defined]
    known = {name for parameter in command.params for name in parameter.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) - {"--cli", "--method"}
    assert named <= known, named - known


def test_the_example_of_a_replay_is_valid_and_the_table_names_every_key() -> None:
    example = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
    assert ReplaySpec.model_validate(read_document(example, "page").data).golden == ("approve", "deny")
    table = PAGE.partition("| key | meaning |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` ", table, re.MULTILINE) == list(ReplaySpec.model_fields)
    assert UNKNOWN in PAGE


def test_files_of_the_page_exist() -> None:
    for link in re.findall(r"\]\(([\w.-]+\.md)\)", PAGE):
        assert Path(ROOT, "docs", link).is_file()
