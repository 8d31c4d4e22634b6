"""Grades of the episodes that people have labelled: those on record, or made now by the graders of params.

A grade of a rollout is on record with it. Graders that were added or changed since are asked anew; they see no final
state then, which is not on record. Traces have no grades of ours on record.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import InputError
from pipeline.evaluation.labels import Label
from pipeline.grader_params import GraderEntry
from pipeline.graders.config import make_panel
from pipeline.graders.reward import find
from pipeline.graders.view import View, view_of_rollout, view_of_trace
from pipeline.records import ROLLOUTS, TASKS, TRACES, Grade, Rollout, Task
from pipeline.rows import rollout_from_row, task_from_row, trace_from_row
from pipeline.tables import read_parquet

TASK_FILES = tuple(Path(f"data/tasks/{split}.parquet") for split in ("train", "valid", "eval", "outside"))

Key = tuple[str, int]
"""Task and try; a trace's id and -1."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A person's verdict beside the grader's."""

    label: Label
    grade: Grade


def grade_labelled(labels: Sequence[Label], graders: Sequence[GraderEntry], *, anew: bool = False) -> list[Judged]:
    """The grade that each label is about, in order; `anew`: by the graders of params even where one is on record.

    Raises InputError that names the label's line when the episode or the grader is not to be found.
    """
    found: dict[Label, Grade] = {}
    for file in dict.fromkeys(label.file for label in labels):
        here = [label for label in labels if label.file == file]
        for mine in ([one for one in here if not one.trace_id], [one for one in here if one.trace_id]):
            if mine:
                found |= _of_traces(mine, graders) if mine[0].trace_id else _of_rollouts(mine, graders, anew)
    return [Judged(label, found[label]) for label in labels]


def _of_rollouts(labels: Sequence[Label], graders: Sequence[GraderEntry], anew: bool) -> dict[Label, Grade]:
    rollouts = _rollouts(labels)
    found: dict[Label, Grade] = {}
    to_ask: list[Label] = []
    for label in labels:
        own = find(rollouts[label.task_id, label.number].grades, label.grader)
        if own is not None and not (anew and _entry(label, graders)):
            found[label] = own
        elif _entry(label, graders):
            to_ask.append(label)
        else:
            _refuse(label, graders, (grade.name for grade in rollouts[label.task_id, label.number].grades))
    if not to_ask:
        return found
    tasks = _tasks({label.task_id: label for label in to_ask})
    views = {key: view_of_rollout(one, tasks[key[0]]) for key, one in rollouts.items() if key[0] in tasks}
    return found | _asked(to_ask, graders, views)


def _of_traces(labels: Sequence[Label], graders: Sequence[GraderEntry]) -> dict[Label, Grade]:
    for label in labels:
        if _entry(label, graders) is None:
            _refuse(label, graders, ())
    wanted = {label.trace_id for label in labels}
    rows = read_parquet(labels[0].file, TRACES, ("trace_id", "group_id"))
    groups = {row["group_id"] for row in rows if row["trace_id"] in wanted} - {None}
    rows = read_parquet(labels[0].file, TRACES)
    near = (row for row in rows if row["trace_id"] in wanted or row["group_id"] in groups)
    views = {(row["trace_id"], -1): view_of_trace(trace_from_row(row)) for row in near}
    for label in labels:
        if (label.trace_id, -1) not in views:
            raise InputError(f"{label.where}: {label.file} holds no {label.episode}; correct trace_id or file")
    return _asked(labels, graders, views)


def _asked(labels: Sequence[Label], graders: Sequence[GraderEntry], views: Mapping[Key, View]) -> dict[Label, Grade]:
    """What the graders of params say now; those of groups get every episode of `views`."""
    entries = {name: entry for entry in graders for name in entry.gives()}
    found: dict[Label, Grade] = {}
    for entry in {entries[label.grader].name: entries[label.grader] for label in labels}.values():
        panel = make_panel([entry])
        given = [(*one, *all_) for one, all_ in zip(
            panel.grade([*views.values()]), panel.grade_groups([*views.values()]), strict=True)]  # fmt: skip
        by_key = dict(zip(views, given, strict=True))
        for label in labels:
            if label.grader in entry.gives():
                grade = find(by_key[label.trace_id or label.task_id, label.number], label.grader)
                if grade is None:
                    named = ", ".join(entry.environments)
                    raise InputError(
                        f"{label.where}: {label.grader} grades {named} only; remove the line, or see `environments` of "
                        "that grader"
                    )
                found[label] = grade
    return found


def _rollouts(labels: Sequence[Label]) -> dict[Key, Rollout]:
    """All tries, in one file, of the tasks that labels name."""
    file, wanted = labels[0].file, {label.task_id for label in labels}
    found: dict[Key, Rollout] = {}
    for row in read_parquet(file, ROLLOUTS):
        key = row["task_id"], row["try_index"]
        if key[0] not in wanted:
            continue
        if key in found:
            raise InputError(f"{file}: holds try {key[1]} of task {key[0]} twice; label the rollouts of another file")
        found[key] = rollout_from_row(row)
    for label in labels:
        if (label.task_id, label.number) not in found:
            raise InputError(f"{label.where}: {file} holds no {label.episode}; correct task_id, try or file")
    return found


def _tasks(wanted: Mapping[str, Label]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for path in TASK_FILES:
        if path.exists():
            found |= {
                row["task_id"]: task_from_row(row) for row in read_parquet(path, TASKS) if row["task_id"] in wanted
            }
    lost = next((label for task, label in wanted.items() if task not in found), None)
    if lost is not None:
        raise InputError(f"{lost.where}: data/tasks holds no task {lost.task_id}; label rollouts of the tasks at hand")
    return found


def _entry(label: Label, graders: Sequence[GraderEntry]) -> GraderEntry | None:
    return next((entry for entry in graders if label.grader in entry.gives()), None)


def _refuse(label: Label, graders: Sequence[GraderEntry], stored: Iterable[str]) -> None:
    known = sorted({*stored, *(name for entry in graders for name in entry.gives())})
    raise InputError(
        f"{label.where}: no grader {label.grader!r}; known are {', '.join(known) or 'none'}; correct it, or add the "
        "grader to `graders` in params.yaml"
    )
