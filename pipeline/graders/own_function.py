"""Graders of the user's own: a Python function that sees an episode.

Its file lies in `pipeline/own_graders`, which every stage that grades has among its dependencies: what is changed there
makes new rollouts. The function gets a copy of the view, so nothing that it does to it shows elsewhere.
"""

import copy
import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import GraderFault, ParamsError
from pipeline.grader_params import PythonParams
from pipeline.graders.verdict import verdict
from pipeline.graders.view import View
from pipeline.records import Grade
from pipeline.user_file import own_line, run_file

OWN = Path(__file__).parents[1] / "own_graders"
"""Where the files of users lie."""


@dataclass(frozen=True, slots=True)
class PythonGrader:
    """Whatever the user's function says."""

    params: PythonParams
    function: Callable[[View], Any]

    def grade(self, view: View) -> tuple[Grade, ...]:
        """One grade of the episode. Raises GraderFault for whatever the function raises or wrongly returns."""
        score, reason = _score_and_reason(_called(self.function, copy.deepcopy(view)))
        return (verdict(self.params, score, reason),)


def load_function(params: PythonParams, folder: Path = OWN) -> Callable[[View], Any]:
    """The function that `params` names. Raises ParamsError where there is none, InputError where its file fails."""
    file, _, name = params.function.partition(":")
    path = (folder / file).resolve()
    where = f"graders: {params.name}: {params.function}"
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        there = ", ".join(sorted(found.relative_to(folder).as_posix() for found in folder.rglob("*.py")))
        raise ParamsError(f"{where}: no such file in {folder}; there are {there or 'none'}")
    names = vars(run_file(path))
    found = names.get(name)
    if not callable(found):
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ParamsError(f"{where}: the file has no function {name!r}{hint}")
    function: Callable[[View], Any] = found
    return function


def _called(function: Callable[[View], Any], view: View) -> Any:
    try:
        return function(view)
    except Exception as error:
        raise GraderFault(f"{type(error).__name__}: {error} (line {own_line(error).lstrip(':')})") from error


def _score_and_reason(returned: Any) -> tuple[float | None, str]:
    score, reason = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, "")
    if score is not None and not isinstance(score, bool | int | float):
        raise GraderFault(f"the function returned {type(score).__name__}; it must return a number, true, false or None")
    if score is None:
        return None, str(reason) or "the function returned None"
    return float(score), str(reason)
