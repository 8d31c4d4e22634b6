"""All graders as one: nulls, environments, groups, and functions of the user's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError, ParamsError
from pipeline.grader_params import GroupEntry, PythonParams, TranscriptParams
from pipeline.graders.config import make_panel
from pipeline.graders.own_function import PythonGrader, load_function
from pipeline.graders.panel import Panel
from pipeline.graders.verdict import verdict
from pipeline.graders.view import View
from pipeline.records import Grade
from tests.graders.views import first, grade, view

KINDS: dict[str, dict[str, Any]] = {
    "state": {"expect": {"a": 1}}, "tool_calls": {"repeats": 0}, "transcript": {"max_turns": 9},
    "text": {"match": "exact", "expected": "Done."}, "python": {"function": "example.py:polite"},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_an_episode_that_broke_is_null_for_every_grader(kind: str) -> None:
    grades = grade({"kind": kind, "held_out": True} | KINDS[kind], view(fault="the world is down"))
    assert [(one.score, one.passed, one.reason, one.held_out) for one in grades] == [
        (None, None, "the world is down", True)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_another_environments_episode_gets_no_grade(kind: str) -> None:
    entry = {"kind": kind, "environments": ["claims"]} | KINDS[kind]
    assert grade(entry, view()) == ()
    assert grade(entry, view(fault="down")) == ()


@given(st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True)), st.floats(0, 1))
def test_a_score_outside_0_to_1_is_null_never_0(score: float | None, pass_at: float) -> None:
    params = TranscriptParams(name="it", kind="transcript", max_turns=1, pass_at=pass_at)
    found = verdict(params, score, "because")
    if score is not None and 0 <= score <= 1:
        assert (found.score, found.passed) == (score, score >= pass_at)
    else:
        assert (found.score, found.passed) == (None, None)


@dataclass(frozen=True)
class Longest:
    """Ranks tries by the length of their answers."""

    params: GroupEntry

    def grade_groups(self, views: Sequence[View]) -> list[tuple[Grade, ...]]:
        """1 for the longest of each task."""
        most = {one.group: max(len(each.answer or "") for each in views if each.group == one.group) for one in views}
        return [(verdict(self.params, float(len(one.answer or "") == most[one.group]), ""),) for one in views]


def test_a_grader_of_groups_gets_all_tries_and_broken_ones_stay_null() -> None:
    panel = Panel(groups=(Longest(GroupEntry(name="longest")),))
    views = [
        view(group="a", answer="x"),
        view(group="b", answer="y"),
        view(group="a", answer="xxx"),
        view(fault="down"),
    ]
    assert [grades[0].score for grades in panel.grade_groups(views)] == [0.0, 1.0, 1.0, None]
    assert panel.grade(views) == [()] * 4


def test_work_is_keyed_by_the_entries_for_episodes() -> None:
    short, long = (TranscriptParams(name="it", kind="transcript", max_turns=n) for n in (1, 2))
    assert make_panel([short]).fingerprint != make_panel([long]).fingerprint
    assert make_panel([]).fingerprint == Panel(groups=(Longest(GroupEntry(name="longest")),)).fingerprint


def own(folder: Path, body: str, name: str = "mine") -> PythonGrader:
    """A grader whose file holds `body`."""
    (folder / "mine.py").write_text(body)
    params = PythonParams(name="it", kind="python", function=f"mine.py:{name}")
    return PythonGrader(params, load_function(params, folder))


def said(grader: PythonGrader, seen: View) -> tuple[float | None, str]:
    """Score and reason."""
    ((found,),) = Panel((grader,)).grade([seen])
    return found.score, found.reason


@pytest.mark.parametrize(
    ("returned", "wanted"),
    [
        ("True", (1.0, "")), ("0.25", (0.25, "")), ("(0, 'why')", (0.0, "why")),
        ("None", (None, "the function returned None")), ("(None, 'no key')", (None, "no key")),
        ("2", (None, "the score 2.0 lies outside 0 to 1 ()")),
        ("'yes'", (None, "the function returned str; it must return a number, true, false or None")),
        ("1 / 0", (None, "ZeroDivisionError: division by zero (line 2)")),
    ],
)  # fmt: skip
def test_what_a_function_returns_or_raises(tmp_path: Path, returned: str, wanted: tuple[float | None, str]) -> None:
    assert said(own(tmp_path, f"def mine(view):\n    return {returned}\n"), view()) == wanted


def test_a_function_may_do_to_its_copy_what_it_likes(tmp_path: Path) -> None:
    seen = view(final_state={"a": 1})
    said(own(tmp_path, "def mine(view):\n    view.final_state.clear()\n    return 1\n"), seen)
    assert seen.final_state == {"a": 1}


def test_the_shipped_example_works() -> None:
    assert first({"kind": "python", "function": "example.py:polite"}, view(answer="Thank you.")).reason == "said thank"


@pytest.mark.parametrize(
    ("body", "function", "error", "message"),
    [
        ("x = 1", "mine.py:mine", ParamsError, "has no function 'mine'"),
        ("def mime(view): ...", "mine.py:mine", ParamsError, "did you mean 'mime'"),
        ("x = 1", "yours.py:mine", ParamsError, "no such file in .*; there are mine.py"),
        ("x = 1", "../mine.py:mine", ParamsError, "no such file"),
        ("x = ", "mine.py:mine", InputError, "mine.py:1: cannot be run: SyntaxError"),
    ],
)
def test_functions_that_cannot_be_had(
    tmp_path: Path, body: str, function: str, error: type[Exception], message: str
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mine.py").write_text(body)
    (tmp_path / "mine.py").write_text("def mine(view): ...")
    with pytest.raises(error, match=message):
        load_function(PythonParams(name="it", kind="python", function=function), folder)
