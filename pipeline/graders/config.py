"""From the entries of `graders` in params to graders: what each kind is, at one glance.

A new kind is a class in `pipeline.grader_params` or `pipeline.judge_params` (with its place in the union there), a
grader, and a line here.
"""

from collections.abc import Sequence

from pipeline.grader_params import (
    GraderEntry,
    GroupEntry,
    PythonParams,
    StateParams,
    TextParams,
    ToolCallsParams,
    TranscriptParams,
)
from pipeline.graders.calls import ToolCallsGrader
from pipeline.graders.expect import StateGrader
from pipeline.graders.own_function import PythonGrader, load_function
from pipeline.graders.pairwise import PairwiseGrader
from pipeline.graders.panel import Panel
from pipeline.graders.ranking import RankingGrader
from pipeline.graders.rubric import RubricGrader
from pipeline.graders.text import TextGrader
from pipeline.graders.transcript import TranscriptGrader
from pipeline.graders.view import Grader, GroupGrader
from pipeline.judge_params import PairwiseParams, RankingParams, RubricParams
from pipeline.remote.memory import Memory


def make_panel(entries: Sequence[GraderEntry]) -> Panel:
    """The graders of a run, made once by each stage that grades.

    Raises ParamsError or InputError for an entry that cannot work.
    """
    singles = tuple(make_grader(entry) for entry in entries if not isinstance(entry, GroupEntry))
    return Panel(singles, tuple(make_group_grader(entry) for entry in entries if isinstance(entry, GroupEntry)))


def make_grader(entry: GraderEntry) -> Grader:
    """The grader of single episodes that one entry describes."""
    match entry:
        case StateParams():
            return StateGrader(entry)
        case ToolCallsParams():
            return ToolCallsGrader(entry)
        case TranscriptParams():
            return TranscriptGrader(entry)
        case TextParams():
            return TextGrader(entry)
        case PythonParams():
            return PythonGrader(entry, load_function(entry))
    raise TypeError(f"no grader of episodes is made of {type(entry).__name__}")


def make_group_grader(entry: GroupEntry) -> GroupGrader:
    """The grader of all episodes at hand that one entry describes."""
    match entry:
        case RubricParams():
            return RubricGrader(entry, Memory())
        case PairwiseParams():
            return PairwiseGrader(entry, Memory())
        case RankingParams():
            return RankingGrader(entry, Memory())
    raise TypeError(f"no grader of groups is made of {type(entry).__name__}")
