"""Episodes to judge, and requests taken apart the way a judge should read them."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pipeline.graders.pairwise import PairwiseGrader
from pipeline.graders.ranking import RankingGrader
from pipeline.graders.rubric import RubricGrader
from pipeline.graders.view import View
from pipeline.judge_params import PairwiseParams, RankingParams, RubricParams
from pipeline.records import Grade, Message, StopReason, ToolCall
from pipeline.remote.memory import Memory
from tests.openai_server import Request, ScriptedServer

OPENING = re.compile(r"^<<<([A-Z_]+|try_\d+) ([0-9a-f]{16})$")


def view(*said: str, group: str = "t", answer: str = "4 parcels") -> View:
    """An episode: one tool call, then the agent's words."""
    call = ToolCall("call_0_0", "count", {"what": "parcels"}, '{"what":"parcels"}')
    messages = (
        Message("assistant", None, (call,)), Message("tool", answer, tool_call_id="call_0_0", name="count"),
        *(Message("assistant", text) for text in said),
    )  # fmt: skip
    return View(
        episode=f"task {group}", group=group, environment="parcels", question="How many parcels?", messages=messages,
        made=(), turns=1 + len(said), tokens=9, answer=said[-1] if said else None, stop_reason=StopReason.FINISHED,
        procedure="Count before you answer.",
    )  # fmt: skip


def judge(server: ScriptedServer, **changes: Any) -> dict[str, Any]:
    """The server as a judge that is never waited for."""
    return {"base_url": server.base_url, "model": "judge", "backoff": 0.0, "retries": 0, "repairs": 1} | changes


Grading = Callable[[Sequence[View]], list[tuple[Grade, ...]]]


def grade(params: RubricParams | PairwiseParams | RankingParams, views: Sequence[View], path: Path) -> list[Grade]:
    """All grades, in the order of views."""
    memory = Memory(path)
    grader: RubricGrader | PairwiseGrader | RankingGrader
    match params:
        case RubricParams():
            grader = RubricGrader(params, memory)
        case PairwiseParams():
            grader = PairwiseGrader(params, memory)
        case RankingParams():
            grader = RankingGrader(params, memory)
    try:
        return [one for grades in grader.grade_groups(views) for one in grades]
    finally:
        memory.close()


def material(request: Request) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """The fenced pieces, each as its JSON lines, and what stands behind them.

    Asserts that the message has the structure that a judge is told of: the tag first, pieces in fences that carry it,
    nothing but JSON inside, nothing but our own words outside.
    """
    lines = request.messages[1]["content"].split("\n")
    tag = str(lines[0]).removeprefix("TAG is ").removesuffix(".")
    assert re.fullmatch("[0-9a-f]{16}", tag)
    pieces: dict[str, list[dict[str, Any]]] = {}
    outside: list[str] = []
    inside = ""
    for text in lines[1:]:
        if inside and text == f"{inside} {tag}>>>":
            inside = ""
        elif inside:
            assert "<" not in text
            assert ">" not in text
            pieces[inside].append(json.loads(text))
        elif opening := OPENING.match(text):
            assert opening[2] == tag
            assert opening[1] not in pieces
            inside = opening[1]
            pieces[inside] = []
        else:
            outside.append(text)
    assert not inside
    return pieces, "\n".join(outside).strip()
