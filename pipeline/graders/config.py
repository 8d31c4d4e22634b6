"""From the entries of `graders` in params to graders: what each kind is, at one glance.

A new kind is a class in `pipeline.grader_params` (with its place in the union there), a grader, and a line here.
"""

from collections.abc import Sequence

from pipeline.grader_params import GraderEntry, GroupEntry, TranscriptParams
from pipeline.graders.panel import Panel
from pipeline.graders.transcript import TranscriptGrader
from pipeline.graders.view import Grader, GroupGrader


def make_panel(entries: Sequence[GraderEntry]) -> Panel:
    """The graders of a run, made once by each stage that grades. Raises ParamsError for an entry that cannot work."""
    singles = tuple(make_grader(entry) for entry in entries if not isinstance(entry, GroupEntry))
    return Panel(singles, tuple(make_group_grader(entry) for entry in entries if isinstance(entry, GroupEntry)))


def make_grader(entry: GraderEntry) -> Grader:
    """The grader of single episodes that one entry describes."""
    match entry:
        case TranscriptParams():
            return TranscriptGrader(entry)
    raise TypeError(f"no grader of episodes is made of {type(entry).__name__}")


def make_group_grader(entry: GroupEntry) -> GroupGrader:
    """The grader of groups that one entry describes."""
    raise TypeError(f"no grader of groups is made of {type(entry).__name__}")
