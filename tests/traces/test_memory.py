"""What the densest record that the cap lets through may take in memory, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

CAP = 32 << 20
FIRST = b'{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}], "x": ['
DENSE = {
    "lists": b"[],", "objects": b'{"":0},', "texts": b'"ab",', "wide": '"\U0001f600",'.encode(), "nothing": b"NaN,",
}  # fmt: skip
CHILD = """
import re, sys
from pathlib import Path
from pipeline.traces.folder import read_file
count = sum(1 for _ in read_file(Path(sys.argv[1]), "f", 32 << 20))
print(count, re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
"""Prints the peak of this program alone: ru_maxrss would also count the process that it was forked from."""


@pytest.mark.slow
@pytest.mark.parametrize("last", [b"1", b"NaN"], ids=["json", "mended"])
@pytest.mark.parametrize("kind", DENSE)
def test_a_record_at_the_cap_takes_less_than_a_gigabyte(kind: str, last: bytes, tmp_path: Path) -> None:
    unit = DENSE[kind]
    record = FIRST + unit * ((CAP - 300) // len(unit)) + last + b"]}\n"
    (tmp_path / "f").write_bytes(record + FIRST + b"1]}\n")
    done = subprocess.run([sys.executable, "-c", CHILD, tmp_path / "f"], capture_output=True, text=True, check=True)
    count, peak_kb = map(int, done.stdout.split())
    assert count == 2
    assert peak_kb < 1 << 20


@pytest.mark.slow
def test_a_line_far_over_the_cap_is_passed_over_unread(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.write(FIRST + b"1]}\n" + FIRST)
        for _ in range(300):
            file.write(b"[1, 2]," * 150_000)
        file.write(b"1]}\n" + FIRST + b"1]}\n")
    done = subprocess.run([sys.executable, "-c", CHILD, tmp_path / "f"], capture_output=True, text=True, check=True)
    count, peak_kb = map(int, done.stdout.split())
    assert count == 3
    assert peak_kb < 1 << 18
