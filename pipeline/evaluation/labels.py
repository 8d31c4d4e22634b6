"""What people said of episodes: a CSV file, one verdict a line.

Columns: `grader` (the grade's name), `label` (pass or fail; yes, true, 1, no, false, 0 mean the same), and the episode:
`task_id` and `try`, or `trace_id`. `file` names the table that holds it; without it, profile's rollouts or the ingested
traces. Other columns are the reader's own notes.
"""

import csv
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import InputError

ROLLOUTS_FILE = Path("data/profile/rollouts.parquet")
TRACES_FILE = Path("data/traces/traces.parquet")
COLUMNS = ("file", "task_id", "try", "trace_id", "grader", "label")
WORDS = {"pass": True, "yes": True, "true": True, "1": True, "fail": False, "no": False, "false": False, "0": False}
MOST_FAULTS = 5
"""Faulty lines that one message names."""


@dataclass(frozen=True, slots=True)
class Label:
    """One verdict of a person on one episode: a try of a task, or a trace."""

    where: str
    """File and line, for messages."""
    file: Path
    task_id: str
    number: int
    """Index of the try; -1 for a trace."""
    trace_id: str
    grader: str
    passed: bool

    @property
    def episode(self) -> str:
        """The episode in words."""
        return f"trace {self.trace_id}" if self.trace_id else f"task {self.task_id}, try {self.number}"


def read_labels(path: Path) -> list[Label]:
    """All verdicts of `path`. Raises InputError that names the file and every faulty line, up to a few."""
    labels: list[Label] = []
    faults: list[str] = []
    seen: dict[tuple[str, Path, str], str] = {}
    for where, row in _rows(path):
        try:
            labels.append(_once(_label(where, row), seen))
        except InputError as fault:
            faults.append(f"{where}: {fault}")
    if faults:
        more = f"; and {len(faults) - MOST_FAULTS} more lines" if len(faults) > MOST_FAULTS else ""
        raise InputError("; ".join(faults[:MOST_FAULTS]) + more)
    if not labels:
        raise InputError(f"{path}: holds no labels; write one line for each verdict")
    return labels


def _once(label: Label, seen: dict[tuple[str, Path, str], str]) -> Label:
    """The label, noted in `seen`. Raises InputError when its episode and grader are there already."""
    key = label.episode, label.file, label.grader
    if key in seen:
        raise InputError(f"{label.episode} has its label for {label.grader} in {seen[key]} already")
    seen[key] = label.where
    return label


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True, restkey="", restval="")
            _check_header(path, list(reader.fieldnames or ()))
            for row in reader:
                cells = {name: value.strip() for name, value in row.items() if isinstance(value, str)}
                if any(cells.values()):
                    yield f"{path}:{reader.line_num}", cells
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8 ({error}); save it as one, with commas") from error


def _check_header(path: Path, names: list[str]) -> None:
    for wanted in ("grader", "label"):
        if wanted not in names:
            close = difflib.get_close_matches(wanted, names, n=1)
            hint = f"; rename {close[0]!r}?" if close else f"; the first line must name {', '.join(COLUMNS)}"
            raise InputError(f"{path}:1: column {wanted!r} is missing{hint}")
    if "trace_id" not in names and not {"task_id", "try"} <= set(names):
        raise InputError(f"{path}:1: no column says which episode is meant; give task_id and try, or trace_id")


def _label(where: str, row: dict[str, str]) -> Label:
    """Raises InputError that tells what is wrong, without the line."""
    word = row["label"].lower()
    if word not in WORDS:
        raise InputError(f"label is {row['label']!r}; write pass or fail")
    if not row["grader"]:
        raise InputError("grader is empty; name the grade that the label is compared with")
    task, number, trace = row.get("task_id", ""), row.get("try", ""), row.get("trace_id", "")
    if bool(trace) == bool(task or number) or bool(task) != bool(number):
        raise InputError("which episode is meant? give task_id and try, or trace_id")
    if number and not (number.isascii() and number.isdecimal()):
        raise InputError(f"try is {number!r}; write the number of the try, from 0")
    file = Path(row["file"]) if row.get("file") else (TRACES_FILE if trace else ROLLOUTS_FILE)
    return Label(where, file, task, int(number) if number else -1, trace, row["grader"], WORDS[word])
