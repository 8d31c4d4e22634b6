"""Graders beside people: kappa, the CSV and its faults, grades on record and made now."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.errors import InputError
from pipeline.evaluation.agreement import Agreement, compare, disagreements, picture, table
from pipeline.evaluation.labelled import grade_labelled
from pipeline.evaluation.labels import Label, read_labels
from pipeline.grader_params import GraderEntry, TextParams, TranscriptParams
from pipeline.records import (
    ROLLOUTS,
    TASKS,
    TRACES,
    Grade,
    Message,
    Rollout,
    StopReason,
    Task,
    Trace,
    TraceStatus,
    Turn,
)
from pipeline.rows import rollout_to_row, task_to_row, trace_to_row
from pipeline.tables import write_parquet
from tests.conftest import ROOT

DONE = TextParams(name="done", kind="text", match="regex", expected="done")
SHORT = TranscriptParams(name="short", kind="transcript", max_turns=1)


def test_kappa_of_a_hand_computed_table() -> None:
    found = Agreement("g", both_pass=20, both_fail=15, lenient=10, strict=5, null=3)
    assert (found.judged, found.share) == (50, 0.7)
    assert found.kappa == pytest.approx(0.4)  # Cohen's own kind of example: (0.70 - 0.50) / (1 - 0.50)
    assert Agreement("g", 0, 0, 3, 3, 0).kappa == pytest.approx(-1.0)


def test_what_cannot_be_said_is_none() -> None:
    assert Agreement("g", 0, 0, 0, 0, 4).share is None
    assert Agreement("g", 0, 0, 0, 0, 4).kappa is None
    assert Agreement("g", 7, 0, 0, 0, 0).kappa is None, "both always pass: chance explains all"


def csv_file(folder: Path, *lines: str, head: str = "task_id,try,grader,label") -> Path:
    """A CSV file of these lines."""
    path = folder / "labels.csv"
    path.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    return path


def test_labels_are_read_with_their_lines(tmp_path: Path) -> None:
    head = "note,grader,label,trace_id,task_id,try,file"
    path = csv_file(tmp_path, '"two\nlines",done,Pass,,t,0,x.parquet', "", ",done,0,r1,,,", head=head)
    one, other = read_labels(path)
    assert (one.where, one.file, one.task_id, one.number, one.passed) == (f"{path}:3", Path("x.parquet"), "t", 0, True)
    assert (other.trace_id, other.number, other.passed, other.file) == (
        "r1",
        -1,
        False,
        Path("data/traces/traces.parquet"),
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("t,0,done,good", r"labels.csv:2: label is 'good'; write pass or fail"),
        ("t,one,done,pass", r"labels.csv:2: try is 'one'"),
        ("t,,done,pass", r"labels.csv:2: which episode is meant"),
        ("t,0,,pass", r"labels.csv:2: grader is empty"),
        ("t,0,done,pass\nt,0,done,fail", r"labels.csv:3: task t, try 0 has its label for done in .*:2 already"),
        ("t,0", r"labels.csv:2: label is ''"),
        ("\n".join(["t,0,done,?"] * 7), r"labels.csv:6: .*; and 2 more lines"),
        ("", r"labels.csv: holds no labels"),
        ('t,0,"done,pass', r"labels.csv: not a CSV file in UTF-8"),
    ],
)  # fmt: skip
def test_a_faulty_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_labels(csv_file(tmp_path, line))


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("task_id,try,grader,lable", r"labels.csv:1: column 'label' is missing; rename 'lable'"),
        ("task_id,grader,label", r"labels.csv:1: no column says which episode"),
    ],
)
def test_a_faulty_header_is_named(tmp_path: Path, head: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_labels(csv_file(tmp_path, "t,0,done,pass", head=head))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a task, two tries of it, and a trace."""
    monkeypatch.chdir(tmp_path)
    task = Task("t", "orders", "refund", "train", 1, "Refund it.", {}, {}, (), {})
    tries = [_rollout(0, "All done."), _rollout(1, "I cannot.")]
    said = (Message("user", "Refund it."), Message("assistant", "Done!"))
    trace = Trace("r1", "f", 1, "openai_chat", None, None, said, (), "h", {}, None, TraceStatus.OK, None, {})
    write_parquet(Path("data/tasks/train.parquet"), [task_to_row(task)], TASKS)
    write_parquet(Path("data/profile/rollouts.parquet"), map(rollout_to_row, tries), ROLLOUTS)
    write_parquet(Path("data/traces/traces.parquet"), [trace_to_row(trace)], TRACES)
    return tmp_path


def _rollout(number: int, answer: str) -> Rollout:
    turn = Turn((1,), (-1.0,), 0, Message("assistant", answer))
    grades = (
        Grade("outcome", "outcome", 1.0, True, reason="on record"),
        Grade("short", "process", None, reason="down"),
    )
    return Rollout("t", "orders", "refund", number, "sft", (1,), (turn,), grades, StopReason.FINISHED)


def labels(folder: Path, *lines: str) -> list[Label]:
    """Labels of tries and of the trace."""
    return read_labels(csv_file(folder, *lines, head="task_id,try,trace_id,grader,label"))


def test_grades_on_record_and_made_now(project: Path) -> None:
    wanted = labels(
        project, "t,0,,outcome,pass", "t,1,,outcome,fail", "t,0,,done,pass", "t,1,,done,pass", ",,r1,done,pass",
        "t,0,,short,pass",
    )  # fmt: skip
    judged = grade_labelled(wanted, [DONE, SHORT])
    assert [one.grade.score for one in judged] == [1.0, 1.0, 1.0, 0.0, 1.0, None]
    outcome, done, short = compare(judged)
    assert (outcome.both_pass, outcome.lenient, done.both_pass, done.strict, short.null) == (1, 1, 2, 1, 1)
    assert grade_labelled(wanted, [DONE, SHORT], anew=True)[-1].grade.score == 1.0
    lenient, strict = disagreements(judged)
    assert lenient.endswith("labels.csv:3: task t, try 1: people say fail, outcome says pass (1.00): on record")
    assert "labels.csv:5: task t, try 1: people say pass, done says fail (0.00): regex: 'I cannot.'" in strict


@pytest.mark.parametrize(
    ("line", "graders", "message"),
    [
        ("t,0,,tone,pass", [DONE], r"labels.csv:2: no grader 'tone'; known are done, outcome, short"),
        (",,r1,tone,pass", [], r"labels.csv:2: no grader 'tone'; known are none"),
        ("t,7,,outcome,pass", [], r"labels.csv:2: data/profile/rollouts.parquet holds no task t, try 7"),
        (",,r9,done,pass", [DONE], r"labels.csv:2: data/traces/traces.parquet holds no trace r9"),
        (",,r1,done,pass", [DONE.model_copy(update={"environments": ("orders",)})], r"done grades orders only"),
    ],
)
def test_what_is_not_to_be_found_is_named(project: Path, line: str, graders: list[GraderEntry], message: str) -> None:
    with pytest.raises(InputError, match=message):
        grade_labelled(labels(project, line), graders)


def test_a_task_that_is_gone_is_named(project: Path) -> None:
    Path("data/tasks/train.parquet").unlink()
    with pytest.raises(InputError, match=r"labels.csv:2: data/tasks holds no task t"):
        grade_labelled(labels(project, "t,0,,done,pass"), [DONE])


def test_rollouts_of_several_steps_are_told_apart(project: Path) -> None:
    rows = [rollout_to_row(_rollout(0, "a")), rollout_to_row(_rollout(0, "b"))]
    write_parquet(Path("data/profile/rollouts.parquet"), rows, ROLLOUTS)
    with pytest.raises(InputError, match="holds try 0 of task t twice"):
        grade_labelled(labels(project, "t,0,,outcome,pass"), [])


def test_the_command_prints_the_table_the_disagreements_and_where_the_picture_lies(project: Path) -> None:
    (project / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    csv_file(project, "t,0,outcome,pass", "t,1,outcome,fail", "t,0,procedure,fail")
    found = CliRunner().invoke(app, ["grade", "agree", "labels.csv"])
    assert isinstance(found.exception, InputError)
    assert "labels.csv:4: no grader 'procedure'; known are outcome, short" in str(found.exception)
    csv_file(project, "t,0,outcome,pass", "t,1,outcome,fail")
    said = CliRunner().invoke(app, ["grade", "agree", "labels.csv", "--show", "0"]).output
    assert said.splitlines()[1].split() == ["outcome", "2", "0", "0.50", "0.00", "1", "0", "1", "0"]
    assert "and 1 more; --show 1 tells all" in said
    assert Path("reports/agreement.svg").read_text().startswith("<svg")


def test_table_and_picture_tell_the_same_and_stay_the_same() -> None:
    rows = [Agreement("polite & <kind>", 20, 15, 10, 5, 3), Agreement("never", 0, 0, 0, 0, 4)]
    _, first, second = (line.split() for line in table(rows).splitlines())
    assert first == ["polite", "&", "<kind>", "53", "3", "0.70", "0.40", "20", "15", "10", "5"]
    assert second == ["never", "4", "4", "\u2013", "\u2013", "0", "0", "0", "0"]
    svg = picture(rows)
    assert svg == picture(rows)
    assert "polite &amp; &lt;kind&gt;" in svg
    assert "agreement 0.70, kappa 0.40" in svg
