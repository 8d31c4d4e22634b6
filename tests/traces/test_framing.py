"""Records of a file however it is framed, damaged or named."""

import io
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.traces import decode, spread
from pipeline.traces.framing import records
from pipeline.traces.preview import preview
from pipeline.traces.spread import spread_values

ROWS: list[Any] = [{"a": 1, "text": 'a "quoted" } brace'}, {"b": [1, {"c": []}]}, {"d": "\\"}]


def values(tmp_path: Path, content: bytes, limit: int = 1000) -> list[Any]:
    """Values, or the reasons why there is none."""
    path = tmp_path / "f"
    path.write_bytes(content)
    return [r.value if r.fault is None else str(r.fault.reason) for r in records(path, limit)]


FRAMINGS = {
    "lines": "\n".join(map(json.dumps, ROWS)),
    "lines, blank ones between": "\n\n" + "\r\n \r\n".join(map(json.dumps, ROWS)) + "\n",
    "array in a line": json.dumps(ROWS),
    "array, indented": json.dumps(ROWS, indent=2),
    "array, a line each": "[" + ",\n".join(map(json.dumps, ROWS)) + "]",
    "array, bracket alone": "[\n" + "\n,".join(map(json.dumps, ROWS)) + "\n]\n",
    "objects, indented": "\n".join(json.dumps(row, indent=1) for row in ROWS),
    "with a byte order mark": "\ufeff" + json.dumps(ROWS, indent=2),
}


@pytest.mark.parametrize("framing", FRAMINGS)
def test_every_framing_gives_the_same_records(framing: str, tmp_path: Path) -> None:
    assert values(tmp_path, FRAMINGS[framing].encode()) == ROWS


def test_line_numbers_are_those_of_an_editor(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("\n" + json.dumps(ROWS, indent=2))
    text = path.read_text().splitlines()
    assert [text[r.line - 1].strip() for r in records(path, 1000)] == ["{", "{", "{"]
    path.write_text("\n{}\n\n{}\n")
    assert [r.line for r in records(path, 1000)] == [2, 4]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'{"a": 1}\n{"b": ', [{"a": 1}, "truncated_file"]),
        (b'[{"a": 1},\n {"b": ', [{"a": 1}, "truncated_file"]),
        (b'[\n{"a": 1},\n', [{"a": 1}, "truncated_file"]),
        (b'{"a": 1}\n{"b": \n{"c": 1}\n', [{"a": 1}, "invalid_json", {"c": 1}]),
        (b'{"b": \n{"c": 1}\n', ["invalid_json", {"c": 1}]),
        (b'[\n{"a": 1},\n{"b": x},\n{"c": 1}\n]', [{"a": 1}, "invalid_json", {"c": 1}]),
        (b'[\n{"a": 1},\n2,\n{"c": 1}\n]', [{"a": 1}, 2, {"c": 1}]),
        (b'{"a": 1}\n}\n', [{"a": 1}, "invalid_json"]),
        (b"[]", []),
        (b"", []),
        (b'{"a": "\xff"}\n{"b": 1}\n', ["invalid_utf8", {"b": 1}]),
        (b"<PLACEHOLDER ROW>\n" * 2, ["placeholder"] * 2),
    ],
)
def test_damage_costs_the_damaged_record_only(content: bytes, found: list[Any], tmp_path: Path) -> None:
    assert values(tmp_path, content) == found


def test_too_long_lines_and_records_are_passed_over(tmp_path: Path) -> None:
    long = orjson.dumps({"a": "x" * 2000})
    short = b'{"b": 1}'
    assert values(tmp_path, long + b"\n" + short + b"\n") == ["line_too_long", {"b": 1}]
    assert values(tmp_path, short + b"\n" + long) == [{"b": 1}, "line_too_long"]
    spread = json.dumps([{"a": ["x" * 90] * 20}, {"b": 1}], indent=1).encode()
    assert values(tmp_path, spread) == ["line_too_long", {"b": 1}]
    assert values(tmp_path, b"[\n" + long + b"\n]") == ["line_too_long"]


def test_an_array_on_one_line_may_be_longer_than_its_records_may(tmp_path: Path) -> None:
    rows = [{"n": n, "text": "[{" * (n % 5) + '\\"'} for n in range(300)]
    assert values(tmp_path, orjson.dumps(rows), 100) == rows
    assert values(tmp_path, orjson.dumps(rows)[:-1], 100) == [*rows, "truncated_file"]
    long = [*rows, {"text": "x" * 200}, {"text": "y" * 3_000_000}, *rows]
    assert values(tmp_path, orjson.dumps(long), 100) == [*rows, "line_too_long", "line_too_long"]
    assert values(tmp_path, orjson.dumps([*rows, {"text": "x" * 2000}, *rows]), 100) == [*rows, "line_too_long", *rows]


def test_a_string_that_a_line_break_cut_costs_one_pass(tmp_path: Path) -> None:
    """Its escaped quotes are not tried one after the other, which took a minute for 100 KB."""
    text = b'{"a": "' + rb"\"" * 500_000 + b"\n, "
    assert values(tmp_path, b"[\n" + text + b'"b": 1},\n{"c": 1}\n]', 1 << 21) == ["invalid_json", {"c": 1}]
    assert preview(b"[\n" + text + b'"b": 1},\n{"c": 1}\n]') == ({"c": 1},)


def test_a_long_string_in_small_pieces_is_not_looked_at_with_each(tmp_path: Path) -> None:
    class Slow(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            return super().read1(1 << 10)

    data = b'[\n{"a": "' + b"x" * (8 << 20) + b'"},\n{"c": 1}\n]'
    assert [len(piece) for _, piece in spread_values(Slow(data), 1 << 24) if isinstance(piece, bytes)] == [8388617, 8]


VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(alphabet='a"\\[]{},\n é', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='a"]', max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.sampled_from(["a", "[", '"']), VALUES, max_size=3), min_size=1, max_size=5)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(rows=OBJECTS, indent=st.sampled_from([None, 0, 2]), block=st.integers(1, 40), array=st.booleans())
def test_blocks_may_end_anywhere(rows: list[Any], indent: int | None, block: int, array: bool) -> None:
    text = json.dumps(rows, indent=indent) if array else "\n".join(json.dumps(row, indent=indent) for row in rows)

    class Slow(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            return super().read1(block)

    with patch.object(spread, "_BLOCK", block):
        pieces = list(spread_values(Slow(text.encode()), 1000))
    assert [orjson.loads(piece) for _, piece in pieces if isinstance(piece, bytes)] == rows
    assert all(text.split("\n")[number - 1].strip()[:1] in ("{", "[") for number, _ in pieces)


@pytest.mark.parametrize("depth", [1100, 100_000])
def test_a_depth_bomb_is_refused(depth: int, tmp_path: Path) -> None:
    bomb = b"[" * depth + b"]" * depth
    assert values(tmp_path, b'{"a": ' + bomb + b'}\n{"b": 1}\n', 1 << 20) == ["too_deep", {"b": 1}]
    assert values(tmp_path, b"[" + bomb + b"]", 1 << 20) == ["too_deep"]


def test_lone_surrogates_become_replacement_characters(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b'{"a": "x\\ud800y", "\\udc00": "\\ud83d\\ude00", "c": ["\xed\xa0\x80"]}\n{"b": 1}\n')
    first, second = records(path, 1000)
    assert first.value == {"a": "x\ufffdy", "\ufffd": "\U0001f600", "c": ["\ufffd"]}
    assert (first.repairs.surrogates, second.repairs.surrogates) == (3, 0)


def test_what_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = b'\n{"b": 1}\n'
    long_paths = b'{"' + b"k" * 20_000 + b'": [' + b"NaN," * 60 + b"1]}"
    assert values(tmp_path, long_paths + good, 1 << 20) == ["not_finite", {"b": 1}]
    monkeypatch.setattr(decode, "_LONG", 4000)
    monkeypatch.setattr(decode, "_MOST_WEIGHT", 512_000)
    assert values(tmp_path, b'{"a": [' + b"[]," * 5000 + b"1]}" + good, 1 << 20) == ["line_too_long", {"b": 1}]
    assert values(tmp_path, b'{"a": [' + b"{}," * 1400 + b"NaN]}" + good, 1 << 20) == ["line_too_long", {"b": 1}]
    kept, _ = values(tmp_path, b'{"a": [' + b"{}," * 1400 + b"1]}" + good, 1 << 20)
    assert len(kept["a"]) == 1401


def test_numbers_beyond_json_become_null_with_their_path(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b'[{"a": 1}, {"b": [1, NaN], "c": {"d": -Infinity}, "e": 1e999, "f": 3}]')
    first, second = records(path, 1000)
    assert (first.repairs.not_finite, second.repairs.not_finite) == ((), ("b[1]", "c.d", "e"))
    assert second.value == {"b": [1, None], "c": {"d": None}, "e": None, "f": 3}
