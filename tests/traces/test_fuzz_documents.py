"""Invented documents: each is accounted for by every reader."""

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.traces import FORMATS
from tests.traces.helpers import LIMIT
from tests.traces.test_fuzz import check

ONE_RUN_A_FILE = {"claude_code", "mini_swe_agent", "openhands"}
"""Formats of which all records of a file may be one run: lines that became part of it are not named."""
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from(
    ["messages", "role", "content", "tool_calls", "function", "arguments", "name", "id", "type", "text", "tools",
     "traj", "task_id", "reward", "info", "message", "uuid", "parentUuid", "loglines", "input", "system", "metadata",
     "weight", "conversations", "from", "value", "prompt", "completion", "output", "call_id", "summary", "history",
     "result", "question", "inference_log", "begin_of_turn_query", "step_0", "responses_create_params", "response",
     "answer_generation", "train_messages", "example", "index", "ground_truth", "item_id", "steps", "source",
     "observation", "action", "args", "cause", "simulations", "samples", "eval", "attempts", "trajectory", "agent"]
)  # fmt: skip
WORDS = st.sampled_from(
    ["user", "assistant", "tool", "system", "text", "tool_use", "tool_result", "summary", "message", "reasoning",
     "function_call", "function_call_output", "web_search_call", "human", "gpt", "observation", "<tool_call>", "[f(1)]"]
)  # fmt: skip
DOCUMENTS: st.SearchStrategy[Any] = st.recursive(
    LEAVES | WORDS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=10
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": WORDS, "content": DOCUMENTS}, optional={"tool_calls": DOCUMENTS}), max_size=4
)
ROWS = st.fixed_dictionaries(
    {}, optional={"messages": MESSAGES, "traj": MESSAGES, "task_id": LEAVES, "reward": LEAVES, "tools": DOCUMENTS,
                  "system": DOCUMENTS, "type": WORDS, "message": DOCUMENTS, "uuid": LEAVES, "error": LEAVES,
                  "metadata": DOCUMENTS, "scores": DOCUMENTS, "status": LEAVES}
)  # fmt: skip


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    # The folder is overwritten by every example, and a busy machine is no fault of the documents.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rows=st.lists(ROWS | DOCUMENTS, min_size=1, max_size=4))
def test_any_document_is_accounted_for_by_any_reader(rows: list[Any], tmp_path: Path) -> None:
    """Each reader by itself, so that no sniffing keeps a document from it."""
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    (tmp_path / "f").write_bytes(data)
    for form, reader in FORMATS.items():
        items = list(reader.read(tmp_path / "f", "f", LIMIT))
        if form not in ONE_RUN_A_FILE and len(rows) > 1:
            assert {item.line for item in items} == set(range(1, len(rows) + 1)), form
        for item in items:
            check([item])
