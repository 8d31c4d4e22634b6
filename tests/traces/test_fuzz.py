"""Damaged and invented bytes: no crash, no hang, every record accounted for, every trace storable.

`FUZZ_ROUNDS` says how many inputs each reader gets: a few by default, 20,000 for a search of an hour or two.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from pipeline.records import Quarantined, Trace
from pipeline.rows import messages_to_json, trace_from_row, trace_to_row
from pipeline.traces import FORMATS, openai_chat
from pipeline.traces.folder import read_file
from pipeline.traces.framing import Record, is_lines, records
from pipeline.traces.lines import Lines, Span
from pipeline.traces.reasons import Reason
from tests.traces.chat_seeds import CHAT_SEEDS
from tests.traces.damage import FRAMES, KINDS, SHORT, copied, endless, framed, spliced
from tests.traces.episode_seeds import EPISODE_SEEDS
from tests.traces.helpers import LIMIT
from tests.traces.limits import bounded
from tests.traces.row_seeds import ROW_SEEDS
from tests.traces.span_samples import SPAN_SEEDS
from tests.traces.test_quick_chat import check as check_same

SEEDS = CHAT_SEEDS | EPISODE_SEEDS | ROW_SEEDS | SPAN_SEEDS
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "30"))
"""Inputs for each reader."""
LONG = 8 << 20
"""A cap that a value a million deep keeps."""
PARTS = {"tau2_bench": "simulations", "inspect_ai": "samples", "swe_agent": "attempts"}
"""Where a record holds several runs, of which one may be damaged."""


SPOKEN = ("type", "messages", "history", "trajectory", "attempts", "samples", "steps", "simulations")
"""Where readers look for a conversation."""


class Target(NamedTuple):
    """What is damaged: a record of a seed, or one of the runs in it."""

    row: int
    part: int | None
    kept: "Counter[str]"
    """Messages of the runs that have nothing to do with it."""
    rest: "Counter[str]"
    """Messages of the runs that have nothing to do with the record."""


def check(items: list[Trace | Quarantined]) -> None:
    """What holds for whatever was read."""
    assert items
    for item in items:
        assert item.line >= 1
        if isinstance(item, Quarantined):
            assert item.reason in set(Reason)
            orjson.dumps(item.message)
        else:
            check_stored(item)


def check_stored(trace: Trace) -> None:
    """It comes back as it was, or is nested so deeply that whoever writes it refuses it."""
    try:
        row = trace_to_row(trace)
    except TypeError as error:
        assert "Recursion limit" in str(error)  # noqa: PT017 - that it is raised is one of two good ends
        return
    assert trace_from_row(row) == trace


def said(items: list[Trace | Quarantined]) -> "Counter[str]":
    """Messages of each trace, as text."""
    return Counter(messages_to_json(item.messages) for item in items if isinstance(item, Trace))


def detected(data: bytes) -> str | None:
    """The format that claims a file."""
    return next((name for name, form in FORMATS.items() if form.sniff(data)), None)


def read_as(form: str, path: Path, data: bytes, limit: int) -> list[Trace | Quarantined]:
    """What the reader of this format makes of a file; where another claims it, that one is tried as well."""
    path.write_bytes(data)
    items = list(read_file(path, "f", limit, FORMATS[form]))
    check(items)
    if detected(data) != form:
        check(list(read_file(path, "f", limit)))
    return items


def unreadable(path: Path, limit: int, items: list[Trace | Quarantined]) -> list[Record]:
    """Records that are none, each of which is named by its line."""
    found = [each for each in records(path, limit) if each.fault is not None or not isinstance(each.value, dict)]
    named = Counter(item.line for item in items if isinstance(item, Quarantined))
    assert Counter(each.line for each in found) <= named
    return found


def rows_of(data: bytes, path: Path) -> list[Any]:
    """The records of a seed."""
    path.write_bytes(data)
    return [record.value for record in records(path, LIMIT)]


def targets(form: str, rows: list[Any], path: Path) -> list[Target]:
    """What can be damaged in a seed."""

    def without(*left: Any) -> "Counter[str]":
        path.write_bytes(framed([json.dumps(row) for row in left], "lines"))
        return said(list(read_file(path, "f", LIMIT, FORMATS[form])))

    whole, part = without(*rows), PARTS.get(form, "")
    runs = [run_of(row, at) for at, row in enumerate(rows)]
    found: list[Target] = []
    for at, row in enumerate(rows):
        rest = whole & without(*(other for other, run in zip(rows, runs, strict=True) if run != runs[at]))
        found.append(Target(at, None, rest, rest))
        for number in range(len(row.get(part, ()))):
            less = row | {part: row[part][:number] + row[part][number + 1 :]}
            found.append(Target(at, number, whole & without(*rows[:at], less, *rows[at + 1 :]), rest))
    return found


def run_of(row: Any, at: int) -> Any:
    """What a record has in common with the other records of its run."""
    known = [row.get(key) for key in ("sessionId", "traceId", "trace_id")] + [row.get("context", {}).get("trace_id")]
    return next((each for each in known if each is not None), at)


def damaged(form: str, rows: list[Any], target: Target, kind: str, rng: random.Random) -> list[str]:
    """The records of a seed as JSON, one of them damaged."""
    texts = [json.dumps(row) for row in rows]
    row = copied(rows[target.row])
    if target.part is None:
        texts[target.row] = KINDS[kind](row, rng)
    else:
        broken = KINDS[kind](row[PARTS[form]][target.part], rng)
        row[PARTS[form]][target.part] = "BROKEN"
        texts[target.row] = json.dumps(row).replace('"BROKEN"', broken)
    return texts


def inputs(form: str, path: Path, rounds: int) -> Iterator[tuple[str, Target, bytes]]:
    """Damaged files: the kind of damage, what was damaged, and the bytes."""
    rng = random.Random(form)
    rows = rows_of(SEEDS[form], path)
    choice = targets(form, rows, path)
    kinds = ["bytes", *KINDS]
    for number in range(rounds):
        kind, target, frame = kinds[number % len(kinds)], rng.choice(choice), rng.choice(FRAMES)
        if kind == "bytes":
            yield kind, target, spliced(framed([json.dumps(row) for row in rows], frame), rng)
        else:
            yield kind, target, framed(damaged(form, rows, target, kind, rng), frame)


@pytest.mark.parametrize("form", SEEDS)
def test_the_seeds_themselves_are_read(form: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(SEEDS[form])
    items = list(read_file(tmp_path / "f", "f", LIMIT))
    assert {item.format if isinstance(item, Trace) else item.reason for item in items} == {form}
    texts = [json.dumps(row) for row in rows_of(SEEDS[form], tmp_path / "f")]
    for frame in FRAMES:
        (tmp_path / "f").write_bytes(framed(texts, frame))
        assert detected(framed(texts, frame)) == form
        assert said(list(read_file(tmp_path / "f", "f", SHORT))) == said(items)


@pytest.mark.parametrize("form", SEEDS)
def test_damage_to_one_record_costs_no_other(form: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    with bounded() as begin:
        for kind, target, data in inputs(form, path, ROUNDS):
            begin()
            limit = SHORT if kind == "length" else LIMIT
            items = read_as(form, path, data, limit)
            broken = unreadable(path, limit, items)
            if kind != "bytes":
                assert (target.rest if broken else target.kept) <= said(items)


def test_the_shortcut_for_chat_rows_makes_the_same_of_damaged_ones(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with bounded() as begin:
        for kind, _, data in inputs("openai_chat", path, ROUNDS):
            begin()
            limit = SHORT if kind == "length" else LIMIT
            path.write_bytes(data)
            items = list(openai_chat.read(path, "f", limit))
            check_same(items, list(openai_chat.read_quickly(path, "f", limit, None, True)))
            if is_lines(data):
                by_line = openai_chat.read_quickly(path, "f", limit, Span(0, len(data)), True)
                check_same(items, [each for each in by_line if not isinstance(each, Lines)])


@pytest.mark.parametrize("form", SEEDS)
def test_a_value_a_million_deep_is_refused(form: str, tmp_path: Path) -> None:
    rng = random.Random(form)
    path = tmp_path / "f"
    rows = rows_of(SEEDS[form], path)
    with bounded() as begin:
        for _ in range(max(1, ROUNDS // 5000)):
            begin()
            frame = rng.choice(FRAMES) if ROUNDS >= 5000 else "lines"  # the others take seconds
            data = framed([json.dumps(rows[0]), endless(copied(rng.choice(rows)), rng)], frame)
            assert unreadable(path, LONG, read_as(form, path, data, LONG))


@pytest.mark.parametrize("form", ["claude_code", "mini_swe_agent", "tau2_bench", "inspect_ai", "swe_agent", "atif"])
def test_a_value_too_deep_to_be_shown_costs_its_own_run_only(form: str, tmp_path: Path) -> None:
    """Python cannot show what is nested 990 levels deep, and messages show what they complain of."""
    path = tmp_path / "f"
    rows = rows_of(SEEDS[form], path)
    for target in targets(form, rows, path):
        broken = copied(rows[target.row])
        run = broken if target.part is None else broken[PARTS[form]][target.part]
        run[next(key for key in SPOKEN if key in run)] = ["HERE"]
        texts = [json.dumps(row) for row in (*rows[: target.row], broken, *rows[target.row + 1 :])]
        data = framed(texts, "lines").replace(b'"HERE"', b"[" * 990 + b"]" * 990)
        assert target.kept <= said(read_as(form, path, data, LIMIT))
