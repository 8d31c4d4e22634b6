"""Records survive the way through their rows, and messages take as little room as they can."""

from typing import Any

import pytest

from pipeline.records import Message, ToolCall
from pipeline.rows import messages_from_json, messages_to_json

CALL = ToolCall("c1", "look", {"b": 1, "a": [None, 0.5, "é"]}, '{"b": 1}')
BROKEN = ToolCall("c2", "look", None, '{"b": ', "arguments are not JSON")
MESSAGES = (
    Message("system", ""),
    Message("user", "Hi.", name="Ann"),
    Message("assistant", None, (CALL, BROKEN), reasoning="hm", trainable=False),
    Message("tool", "seen", (), "c1", "look"),
)


def test_messages_come_back_as_they_were() -> None:
    assert messages_from_json(messages_to_json(MESSAGES)) == MESSAGES


def test_whatever_is_stored_can_be_read_again() -> None:
    deep: Any = 1
    for _ in range(245):
        deep = [deep]
    messages = (*MESSAGES, Message("assistant", None, (ToolCall("c", "look", {"a": deep}, ""),)))
    assert messages_from_json(messages_to_json(messages)) == messages


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Message("user", "x"), '{"role":"user","content":"x"}'),
        (Message("tool", None, (), "c"), '{"role":"tool","content":null,"tool_call_id":"c"}'),
        (
            Message("assistant", None, (BROKEN,)),
            '{"role":"assistant","content":null,"tool_calls":[{"id":"c2","name":"look","arguments":null,'
            '"raw_arguments":"{\\"b\\": ","parse_error":"arguments are not JSON"}]}',
        ),
    ],
)
def test_defaults_are_left_out(message: Message, text: str) -> None:
    assert messages_to_json((message,)) == f"[{text}]"


def test_what_json_text_cannot_hold_is_an_error() -> None:
    with pytest.raises(TypeError, match="64-bit"):
        messages_to_json((Message("assistant", None, (ToolCall("c", "look", {"a": 2**64}, ""),)),))
