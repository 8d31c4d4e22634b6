"""Local records."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.tracking.journal import FAILED, FINISHED, KILLED, RUNNING, open_record, public_uri, records_folder

IDENTITY = "0123456789abcdef" * 2

DIES = """
import os
from pathlib import Path
from pipeline.tracking.journal import open_record
open_record(Path({root!r}), "rl", {identity!r}).start()
os.kill(os.getpid(), 9)
"""


def test_a_run_that_was_killed_is_continued(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", DIES.format(root=str(tmp_path), identity=IDENTITY)], check=False)
    record = open_record(tmp_path, "rl", IDENTITY)
    assert record.last_status() == KILLED
    record.start()
    assert record.last_status() == RUNNING
    assert [event["event"] for event, _ in record.events()] == ["start", "start"]


@pytest.mark.parametrize("status", [FINISHED, FAILED])
def test_a_run_that_ended_by_itself_is_not(tmp_path: Path, status: str) -> None:
    first = open_record(tmp_path, "rl", IDENTITY)
    first.start()
    first.append("end", status=status)
    assert open_record(tmp_path, "rl", IDENTITY).folder != first.folder


def test_a_run_at_work_is_left_alone(tmp_path: Path) -> None:
    first = open_record(tmp_path, "rl", IDENTITY)
    first.start()
    assert open_record(tmp_path, "rl", IDENTITY).folder != first.folder


def test_a_line_that_is_being_written_is_read_later(tmp_path: Path) -> None:
    record = open_record(tmp_path, "rl", IDENTITY)
    record.append("metrics", step=1, values={})
    whole = record.events_file.stat().st_size
    with record.events_file.open("ab") as stream:
        stream.write(b'{"event": "metr')
    assert [offset for _, offset in record.events()] == [whole]
    with record.events_file.open("ab") as stream:
        stream.write(b'ics", "step": 2}\n')
    assert [event["step"] for event, _ in record.events(whole)] == [2]


def test_each_server_has_its_own_records_and_no_password_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = records_folder(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://me:secret@mlflow.example.org/a")
    assert records_folder(tmp_path) != here
    assert public_uri() == "https://mlflow.example.org/a"
