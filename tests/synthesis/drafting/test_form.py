"""What a model is told of the form is the form itself."""

import pytest

from pipeline.environments.declared.columns import Draw
from pipeline.environments.declared.load import parse_spec
from pipeline.environments.declared.spec import Insert, Spec, Template, Tool
from pipeline.errors import SpecError
from pipeline.synthesis.drafting.answers import yaml_of
from pipeline.synthesis.drafting.form import example, reference
from pipeline.synthesis.drafting.writing import comment, quoted, shown


def test_the_reference_names_every_key_of_every_part() -> None:
    text = reference()
    for part in (Spec, Tool, Draw, Insert, Template):
        _, _, rest = text.partition(f"{part.__name__}: ")
        lines = rest.partition("\n\n")[0].splitlines()[1:]
        assert [line.split()[0] for line in lines] == list(part.model_fields)
    assert "  returns (expression; required): Text of the answer, as it stands after the change." in text
    assert "  subject (name; required): Row name of the table whose rows get decided." in text


def test_the_example_is_a_valid_spec_and_shorter_than_the_whole() -> None:
    compiled = parse_spec(example(), "example")
    assert len(compiled.cases) == len({rule for rule, _ in compiled.cases.values()})
    assert not compiled.habits


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("```yaml\na: 1\n```", "a: 1\n"),
        ("First\n```\na: 1\n```\nor\n~~~yml\na: 1\nb: 2\n~~~\n", "a: 1\nb: 2\n"),
        ("```python\nimport os\n```\n```yaml\na: 1\n```", "a: 1\n"),
        ("<think>```yaml\nx: 1\ny: 2\n```</think>```yaml\na: 1\n```", "a: 1\n"),
        ("```yaml\na: 1\nb: 2", "a: 1\nb: 2"),
        ("Sure!\nname: x\nabout: y", "name: x\nabout: y"),
        ("````yaml\na: |\n  ```\n````", "a: |\n  ```\n"),
        ("```yaml\r\na: 1\r\n```\r\n", "a: 1\n"),
    ],
)
def test_the_yaml_of_an_answer(answer: str, wanted: str) -> None:
    assert yaml_of(answer) == wanted


def test_an_answer_without_yaml_has_none() -> None:
    with pytest.raises(SpecError, match="no YAML block"):
        yaml_of("```json\n{}\n```")


def test_text_of_others_can_neither_hide_nor_end_a_comment() -> None:
    assert comment(["one\ntools: {}\x1b[2J\u202e", "two"], indent=2) == "  # one tools: {}\\u001b[2J\\u202e\n  # two\n"
    assert shown("é\t\u2028") == "é\t\\u2028"
    assert quoted('a"\n\u2028: {x}') == '"a\\"\\n\\u2028: {x}"'
