"""tau-bench results: groups of tries, and errors that are no zeros."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.records import TraceStatus
from tests.traces.helpers import ANSWER, USER, call, only, read, refused, result, traces


def run(task_id: int = 4, trial: int = 0, reward: Any = 1.0, **beside: Any) -> dict[str, Any]:
    """One record."""
    traj = [USER, {"role": "assistant", "content": None, "tool_calls": [call()]}, result("ok"), ANSWER]
    return {"task_id": task_id, "trial": trial, "reward": reward, "info": {"source": "user"}, "traj": traj, **beside}


def array(*rows: Any, indent: bool = True) -> bytes:
    """Rows as one JSON array."""
    return orjson.dumps(list(rows), option=orjson.OPT_INDENT_2 if indent else 0)


@pytest.mark.parametrize("indent", [True, False])
def test_tries_of_a_task_share_a_group(indent: bool, tmp_path: Path) -> None:
    items = read(tmp_path, array(*(run(4, n, n % 2) for n in range(4)), run(5, 0, 0.0), indent=indent), "r.json")
    found = traces(items)
    assert [(t.group_id, t.try_id, t.reward) for t in found] == [
        ("r.json#4", "0", 0.0),
        ("r.json#4", "1", 1.0),
        ("r.json#4", "2", 0.0),
        ("r.json#4", "3", 1.0),
        ("r.json#5", "0", 0.0),
    ]
    assert {t.status for t in found} == {TraceStatus.OK}
    assert found[0].metadata["info"] == {"source": "user"}
    assert sorted({t.line for t in found}) == [t.line for t in found] if indent else {t.line for t in found} == {1}


@pytest.mark.parametrize("info", [{"error": "EOF", "traceback": "..."}, {}, None])
def test_a_crashed_run_is_an_error_and_no_zero(info: Any, tmp_path: Path) -> None:
    trace = only(read(tmp_path, array(run(reward=0.0, traj=[], info=info)), "r.json"))
    assert (trace.status, trace.reward, trace.messages) == (TraceStatus.ERROR, None, ())
    assert trace.error


def test_a_missing_reward_is_not_known(tmp_path: Path) -> None:
    trace = only(read(tmp_path, array(run(reward=None)), "r.json"))
    assert (trace.reward, trace.status) == (None, TraceStatus.OK)


def test_explicit_nulls_are_no_calls(tmp_path: Path) -> None:
    quiet = ANSWER | {"tool_calls": None, "function_call": None}
    trace = only(read(tmp_path, array(run(traj=[USER, quiet])), "r.json"))
    assert trace.messages[1].tool_calls == ()


def test_a_record_without_a_task_is_refused(tmp_path: Path) -> None:
    items = read(tmp_path, array(run(), run(task_id=None), run(traj=[USER, 5])), "r.json")  # type: ignore[arg-type]
    assert [(field, reason) for _, field, reason in refused(items)] == [
        ("task_id", "missing_field"),
        ("traj[1]", "bad_field"),
    ]
