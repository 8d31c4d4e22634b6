"""Rollouts in chunks, judged by a model behind a real socket once all are played."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.graders.config import make_panel
from pipeline.judge_params import RankingParams, RubricParams
from pipeline.params import RolloutParams
from pipeline.records import Rollout
from pipeline.rollouts.harness import Harness
from pipeline.rollouts.places import Places
from pipeline.rollouts.pool import play_chunks
from tests.graders.judged import judge, material
from tests.openai_server import Answer, Request, ScriptedServer, say, say_json, scripted_server, slow
from tests.rollouts.conftest import Scripted, task

TASKS = [task(f"t{number}") for number in range(3)]
BOOM = '<tool_call>{"name": "explode", "arguments": {"why": "disk full"}}</tool_call>'


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A judge that likes long answers, and a folder for what is remembered."""
    monkeypatch.chdir(tmp_path)
    with scripted_server(verdicts) as running:
        yield running


def verdicts(request: Request) -> Answer:
    """Two points for three words or more; ranks by the number of words."""
    pieces, _ = material(request)
    words = {
        name: len(lines[-1]["text"].split()) for name, lines in pieces.items() if name not in ("QUESTION", "PROCEDURE")
    }
    if "TRANSCRIPT" in words:
        return slow(0.001 * words["TRANSCRIPT"], say_json(reasoning="-", score=2 if words["TRANSCRIPT"] > 2 else 0))
    placed = [{"id": name, "reasoning": "-", "score": count / 10} for name, count in words.items()]
    return say(json.dumps({"tries": placed}))


def rollouts(
    server: ScriptedServer, harness: Harness, places: Places, params: RolloutParams, **changes: Any
) -> list[Rollout]:
    """Two tries of three tasks in chunks of four; the last one breaks its world."""
    entries = [
        RubricParams.model_validate({
            "name": "style", "kind": "rubric", "judge": judge(server, **changes),
            "dimensions": [{"name": "length", "question": "Long?", "levels": ["no", "so", "yes"]}],
        }),
        RankingParams.model_validate({
            "name": "rank", "kind": "group", "judge": judge(server, **changes), "question": "Longer is better.",
        }),
    ]  # fmt: skip
    said = {
        (0, 0): "One.",
        (0, 1): "One two three.",
        (1, 0): "One two.",
        (1, 1): "One.",
        (2, 0): "A b c d.",
        (2, 1): BOOM,
    }
    engines = Scripted(harness, lambda row, _turn: said[_place(len(engines.seeds), row)])
    return play_chunks(
        engines, places, TASKS, 2, params, model="m", seed=9, work=Path("work"), on_progress=lambda _done, _note: None,
        panel=make_panel(entries),
    )  # fmt: skip


def _place(chunk: int, row: int) -> tuple[int, int]:
    number = 4 * (chunk - 1) + row
    return number // 2, number % 2


def judged(found: list[Rollout]) -> list[dict[str, float | None]]:
    """The judges' grades."""
    return [
        {grade.name: grade.score for grade in one.grades if grade.name in ("style_length", "rank")} for one in found
    ]


def test_judges_see_all_tries_and_leave_what_broke_alone(
    server: ScriptedServer, harness: Harness, places: Places, params: RolloutParams
) -> None:
    found = rollouts(server, harness, places, params, concurrency=1)
    assert judged(found) == [
        {"style_length": 0.0, "rank": 0.1}, {"style_length": 1.0, "rank": 0.3}, {"style_length": 0.0, "rank": 0.2},
        {"style_length": 0.0, "rank": 0.1}, {"style_length": 1.0, "rank": 0.4}, {"style_length": None, "rank": None},
    ]  # fmt: skip
    assert "environment_error" in found[-1].grades[-1].reason
    asked = len(server.requests)
    assert asked == 4 + 3
    assert rollouts(server, harness, places, params, concurrency=6) == found
    shutil.rmtree("work")
    assert rollouts(server, harness, places, params) == found
    assert len(server.requests) == asked


def test_the_budget_is_for_all_rollouts_together(
    server: ScriptedServer, harness: Harness, places: Places, params: RolloutParams
) -> None:
    found = judged(rollouts(server, harness, places, params, budget={"calls": 3}))
    assert [one["style_length"] for one in found] == [0.0, 1.0, 0.0, None, None, None]
    assert [one["rank"] for one in found] == [0.1, 0.3, 0.2, 0.1, 0.4, None]
