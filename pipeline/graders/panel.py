"""All graders of a run, as one.

Graders of single episodes speak when the episode ends, those of groups when all tries of a task are at hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.errors import GraderFault
from pipeline.grader_params import GraderEntry
from pipeline.graders.verdict import verdict
from pipeline.graders.view import Grader, GroupGrader, View
from pipeline.records import Grade
from pipeline.tables import dumps

Grades = tuple[Grade, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """The graders that `graders` in params names, beside those of the environments."""

    singles: tuple[Grader, ...] = ()
    groups: tuple[GroupGrader, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Canonical text of the entries for single episodes: episodes that were played and graded are kept by it."""
        return dumps([grader.params.model_dump(mode="json") for grader in self.singles])

    def grade(self, views: Sequence[View]) -> list[Grades]:
        """For each episode, in order, the grades of all graders of single episodes."""
        return _side_by_side([_each(grader, views) for grader in self.singles], len(views))

    def grade_groups(self, views: Sequence[View]) -> list[Grades]:
        """For each episode, in order, the grades of all graders of groups; episodes of one group share `View.group`."""
        return _side_by_side([_grouped(grader, views) for grader in self.groups], len(views))


NOBODY = Panel()
"""No graders beside the environments' own."""


def _side_by_side(columns: Sequence[Sequence[Grades]], length: int) -> list[Grades]:
    return [tuple(grade for column in columns for grade in column[row]) for row in range(length)]


def _each(grader: Grader, views: Sequence[View]) -> list[Grades]:
    return [_one(grader, view) for view in views]


def _one(grader: Grader, view: View) -> Grades:
    if _skips(grader.params, view):
        return _unheard(grader.params, view, view.fault)
    try:
        return grader.grade(view)
    except GraderFault as fault:
        return _unheard(grader.params, view, str(fault))


def _grouped(grader: GroupGrader, views: Sequence[View]) -> list[Grades]:
    rows = [row for row, view in enumerate(views) if not _skips(grader.params, view)]
    judged = grader.grade_groups([views[row] for row in rows]) if rows else []
    found = dict(zip(rows, judged, strict=True))
    return [found[row] if row in found else _unheard(grader.params, view, view.fault) for row, view in enumerate(views)]


def _skips(params: GraderEntry, view: View) -> bool:
    return bool(view.fault) or not _concerned(params, view)


def _concerned(params: GraderEntry, view: View) -> bool:
    return not params.environments or view.environment in params.environments


def _unheard(params: GraderEntry, view: View, reason: str) -> Grades:
    """Null grades of an episode that cannot be graded; none at all in an environment that is not the grader's."""
    if not _concerned(params, view):
        return ()
    return tuple(verdict(params, None, reason, name=name) for name in params.gives())
