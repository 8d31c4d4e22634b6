"""The report page: self-contained, escaped, the same bytes twice, honest when RL is worse."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.evaluation.episodes import pick_pairs
from pipeline.evaluation.inputs import load_inputs
from pipeline.evaluation.page import render
from pipeline.evaluation.summary import compare
from pipeline.evaluation.watching import watch_sentences
from pipeline.params import EvaluateParams
from tests.evaluation.workspace import HOSTILE, SKILL, lay_out

PARAMS = EvaluateParams(tries=4, k=2, bootstrap=200, confidence=0.95)


def page(root: Path) -> str:
    """The page of the folder `root`."""
    inputs = load_inputs(root, 1.0)
    return render(inputs, compare(inputs.scores["eval"], PARAMS, 1), PARAMS, 1, 1.0)


class Tags(HTMLParser):
    """Collects tags and visible text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember the tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Remember the text."""
        self.text += data


def parsed(text: str) -> Tags:
    """Parse as a browser would."""
    tags = Tags()
    tags.feed(text)
    return tags


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of rollouts whose every text tries to break out."""
    root = tmp_path_factory.mktemp("hostile")
    lay_out(root, tasks=12, tries=4, hostile=HOSTILE)
    return page(root)


def test_text_of_models_tasks_and_tools_stays_text(hostile: str) -> None:
    found = parsed(hostile)
    assert "script" not in {tag for tag, _ in found.tags}
    assert "<script" not in hostile
    assert found.text.count("<script>alert('x')</script>") >= 6
    assert "{{ 7 * 7 }}" in found.text
    assert "49" not in re.findall(r"\{\{ .{1,8} \}\}|\b49\b", found.text.partition("Before and after")[2])
    assert r"$\frac{1}{2}$" in found.text
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on")]


def test_nothing_is_fetched(hostile: str) -> None:
    found = parsed(hostile)
    assert not {tag for tag, _ in found.tags} & {"link", "img", "iframe", "script", "object", "image"}
    targets = [value for _, attributes in found.tags for name, value in attributes.items() if name.endswith("href")]
    assert targets
    assert all(value and value.startswith("#") for value in targets)
    assert "url(#" in hostile
    assert not re.search(r"url\((?!#)|@import", hostile)


def test_equal_inputs_give_equal_bytes_and_no_id_stands_twice(hostile: str, tmp_path: Path) -> None:
    lay_out(tmp_path, tasks=12, tries=4, hostile=HOSTILE)
    assert page(tmp_path) == hostile
    ids = re.findall(r'\bid="([^"]+)"', hostile)
    assert len(ids) == len(set(ids))


def test_it_is_made_for_phones_and_for_the_dark(hostile: str) -> None:
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in hostile
    assert "prefers-color-scheme: dark" in hostile
    assert "var(--rl)" in hostile
    assert not re.search(r"#0[1-9a]0[1-9a]0[1-9a]", hostile), "a stand-in colour was left in a chart"


def test_it_shows_what_was_lost_when_rl_is_worse(tmp_path: Path) -> None:
    lay_out(tmp_path, tasks=12, tries=4, skill=SKILL | {"sft": 0.8, "rl": 0.2})
    pairs = pick_pairs(load_inputs(tmp_path, 1.0), 1.0)
    assert (pairs[-1].title, pairs[-1].before.solved, pairs[-1].after.solved) == ("What RL lost", True, False)


def test_counts_that_no_stage_wrote_are_absent_not_zero(hostile: str) -> None:
    text = parsed(hostile).text
    assert "Traces read" not in text
    assert "RL in numbers" not in text


def test_pairs_are_the_same_task_failed_before_and_solved_after(tmp_path: Path) -> None:
    lay_out(tmp_path, tasks=12, tries=4)
    learnt, other = pick_pairs(load_inputs(tmp_path, 1.0), 1.0)
    assert (learnt.before.solved, learnt.after.solved) == (False, True)
    assert other.after.solved is False
    assert learnt.task.task_id != other.task.task_id
    assert [call.name for step in learnt.after.steps for call in step.calls if call.only_here]
    assert any(call.error for step in learnt.before.steps for call in step.calls)


@pytest.mark.parametrize("lost", ["metrics/rl.json", "plots/sft.csv", "data/eval/rl-eval.parquet"])
def test_a_missing_input_is_named(tmp_path: Path, lost: str) -> None:
    lay_out(tmp_path, tasks=6, tries=2)
    (tmp_path / lost).unlink()
    with pytest.raises(InputError, match=re.escape(f"{lost}: no such file; run the stage that writes it")):
        load_inputs(tmp_path, 1.0)


def test_a_grade_held_out_is_drawn_with_the_reward_and_a_fall_is_pointed_out(hostile: str) -> None:
    said = parsed(hostile).text
    assert "tone, held out" in said
    assert "Look closely: tone, held out of the reward, went from 0.47 beside" in said
    assert watch_sentences([(1, 0.2), (2, 0.8)], {"tone": [(1, 0.5), (2, 0.6)]}) == [
        "tone, held out of the reward, went from 0.50 beside a reward of 0.20 to 0.60 beside a reward of 0.80."
    ]
    assert watch_sentences([], {"tone": [(1, 0.5)]}) == watch_sentences([(1, 0.5)], {"tone": []}) == []


def test_every_grade_has_its_row_and_faults_name_their_turn(hostile: str) -> None:
    said = " ".join(parsed(hostile).text.split())
    assert "tone held out of the reward" in said
    assert "calls, turn 2" in said
    assert "forbidden, made once: close_case" in said
    assert "made: find_claims" not in said
