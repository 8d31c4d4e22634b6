"""Damaged second layouts, containers, and recordings in several files: no crash, no hang, every file accounted for."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from pipeline.records import Trace
from pipeline.traces.folder import read_file
from pipeline.traces.units import read_unit, trace_units
from tests.traces.damage import KINDS, copied, framed, spliced
from tests.traces.episode_seeds import ATIF, MORE_SEEDS, SAMPLE, SIMULATION, STEPS, TAU2, archive
from tests.traces.helpers import LIMIT
from tests.traces.limits import bounded
from tests.traces.test_fuzz import ROUNDS, SEEDS, check, rows_of
from tests.traces.test_opening import parquet, zstd

COPIED = [{**step, "is_copied_context": True} for step in STEPS]
RESULT = {"trial_name": "t", "task_name": "h", "verifier_result": {"rewards": {"reward": 1.0}},
          "agent_info": {"name": "a"}}  # fmt: skip
LAYOUTS: dict[str, dict[str, bytes]] = {
    "harbor": {
        "t/result.json": orjson.dumps(RESULT),
        "t/agent/a.json": orjson.dumps(ATIF | {"continued_trajectory_ref": "x"}),
        "t/agent/b.json": orjson.dumps(ATIF | {"steps": COPIED}),
        "t/verifier/reward.txt": b"0.5",
    },
    "tau2": {
        "results.json": orjson.dumps(TAU2 | {"simulations": []}),
        "simulations/a.json": orjson.dumps(SIMULATION),
        "simulations/b.json": orjson.dumps(SIMULATION | {"id": "t", "trial": 1}),
    },
    "atif": {
        "a.json": orjson.dumps(ATIF | {"continued_trajectory_ref": "b.json"}),
        "b.json": orjson.dumps(ATIF | {"steps": COPIED + STEPS[1:], "continued_trajectory_ref": "c.json"}),
        "c.json": orjson.dumps(ATIF | {"steps": COPIED}),
        "d.json": orjson.dumps(ATIF | {"session_id": "other"}),
    },
}
NO_RUN = ("results.json", "t/result.json", "t/verifier/reward.txt")
"""Files that hold no run: they need not be named where there is none that they could be about."""


def parquet_of(rows: list[bytes]) -> bytes:
    """Columns of JSON text, as each row's keys have them."""
    return parquet([{key: json.dumps(value) for key, value in orjson.loads(row).items()} for row in rows])


PACKERS: dict[str, Callable[[list[bytes]], bytes]] = {
    "gzip": lambda rows: gzip.compress(b"\n".join(rows), mtime=0),
    "zstd": lambda rows: zstd(b"[\n" + b",\n".join(rows) + b"\n]"),
    "parquet": parquet_of,
}


@pytest.mark.parametrize("form", MORE_SEEDS)
def test_another_layout_is_accounted_for(form: str, tmp_path: Path) -> None:
    rng = random.Random(form)
    path = tmp_path / "f"
    path.write_bytes(MORE_SEEDS[form])
    assert {item.format for item in read_file(path, "f", LIMIT) if isinstance(item, Trace)} == {form}
    zipped = MORE_SEEDS[form][:2] == b"PK"
    rows = [SAMPLE, SAMPLE | {"id": 2}] if zipped else rows_of(MORE_SEEDS[form], path)
    with bounded() as begin:
        for number in range(ROUNDS):
            begin()
            if number % 2:
                data = spliced(MORE_SEEDS[form], rng)
            else:
                texts: list[str | bytes] = [json.dumps(row) for row in rows]
                texts[number % len(rows)] = rng.choice(list(KINDS.values()))(copied(rows[number % len(rows)]), rng)
                data = archive(*texts) if zipped else framed([str(text) for text in texts], "spread")
            path.write_bytes(data)
            check(list(read_file(path, "f", rng.choice((2000, LIMIT)))))


@pytest.mark.parametrize("packer", PACKERS)
def test_containers_are_accounted_for(packer: str, tmp_path: Path) -> None:
    """Bytes cut and spliced inside what is packed, and in the container."""
    rng = random.Random(packer)
    forms = sorted(SEEDS)
    path = tmp_path / "f"
    rows = {form: [json.dumps(row).encode() for row in rows_of(SEEDS[form], path)] for form in forms}
    with bounded() as begin:
        for _ in range(ROUNDS):
            begin()
            records = rows[rng.choice(forms)]
            if packer == "parquet" or rng.random() < 0.6:
                data = spliced(PACKERS[packer](records), rng)
            else:
                data = PACKERS[packer]([spliced(each, rng) if rng.random() < 0.5 else each for each in records])
            path.write_bytes(data)
            check(list(read_file(path, "f", rng.choice((2000, LIMIT)))))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_recordings_of_several_files_are_accounted_for(layout: str, tmp_path: Path) -> None:
    rng = random.Random(layout)
    files = LAYOUTS[layout]
    with bounded() as begin:
        for _ in range(ROUNDS):
            begin()
            broken = {rng.choice(sorted(files)), rng.choice(sorted(files))}
            for name, content in files.items():
                (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name).write_bytes(damaged(content, rng) if name in broken else content)
            items = [item for unit in trace_units(tmp_path) for item in read_unit(unit, LIMIT)]
            named = {item.source for item in items}
            for item in items:
                check([item])
                if isinstance(item, Trace):
                    named |= {*item.metadata.get("side_files", ()), *item.metadata.get("parts", ())}
            assert named >= {name for name in files if name not in NO_RUN}


def damaged(content: bytes, rng: random.Random) -> bytes:
    """A file with its bytes, or the value in it, damaged."""
    value = orjson.loads(content)
    if rng.random() < 0.4 or not isinstance(value, dict):
        return spliced(content, rng)
    return rng.choice(list(KINDS.values()))(value, rng).encode("utf-8", "surrogatepass")
