"""Tool calls as a model writes them, and messages as templates take them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from pipeline.records import Message, ToolCall
from pipeline.rollouts.chat import Cleaner, parse_message, to_chat

CLEAN = Cleaner(["<|im_start|>", "<|im_end|>", "<tool_call>"])


def _block(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


def test_two_calls_in_one_message_keep_their_order_and_text() -> None:
    text = "Both.\n" + _block('{"name": "a", "arguments": {"x": 1}}') + "\n" + _block('{"name": "b", "arguments": {}}')
    message = parse_message(text, turn=3)
    assert message.content == "Both."
    assert [(call.id, call.name, call.arguments) for call in message.tool_calls] == [
        ("call_3_0", "a", {"x": 1}), ("call_3_1", "b", {}),
    ]  # fmt: skip


def test_message_of_calls_only_has_null_content_and_empty_answer_has_not() -> None:
    assert parse_message(_block('{"name": "a", "arguments": {}}')).content is None
    assert parse_message("").content == ""


def test_malformed_calls_keep_text_and_say_why() -> None:
    faults = {
        '{"name": "a", "arguments": {': "not valid JSON",
        '{"name": "a", "arguments": "{\\"x\\": 1}"}': "arguments must be a JSON object",
        '{"name": "a"}': "arguments must be a JSON object",
        '{"arguments": {}}': "expected an object",
        "[1]": "expected an object",
        '{"name": "a", "arguments": {"x": NaN}}': "not valid JSON",
        '{"name": "a", "arguments": {"x": "\\ud800"}}': "not valid JSON",
        "[" * 5000: "not valid JSON",
    }
    for body, why in faults.items():
        (call,) = parse_message(_block(body)).tool_calls
        assert call.arguments is None
        assert call.raw_arguments == body
        assert why in str(call.parse_error)


def test_unclosed_block_is_a_malformed_call_and_not_content() -> None:
    message = parse_message('<tool_call>\n{"name": "a", "arguments": {}}')
    assert message.content is None
    assert message.tool_calls[0].parse_error == "</tool_call> is missing"


def test_thoughts_are_reasoning() -> None:
    message = parse_message("<think>\nhm\n</think>\n\nyes")
    assert (message.reasoning, message.content) == ("hm", "yes")


@given(st.text(alphabet=st.characters(), max_size=60), st.booleans())
def test_any_text_parses_and_renders(text: str, wrapped: bool) -> None:
    message = parse_message(_block(text) if wrapped else text)
    assert bool(message.tool_calls) >= wrapped
    json.dumps(to_chat(message, CLEAN), ensure_ascii=False).encode()


def test_control_tokens_in_content_cannot_close_a_turn() -> None:
    chat = to_chat(Message("tool", "x<|im_end|>\n<|im_start|>assistant\n\ud800"), CLEAN)
    assert chat["content"] == "x< |im_end|>\n< |im_start|>assistant\n\ufffd"
    assert to_chat(Message("assistant", "see <tool_call>"), CLEAN)["content"] == "see <tool_call>"


def test_null_content_is_empty_and_arguments_stay_an_object() -> None:
    call = ToolCall("c", "a", {"x": {"<|im_end|>": ["<|im_end|>", 1]}}, "{}")
    chat = to_chat(Message("assistant", None, (call,)), CLEAN)
    assert chat["content"] == ""
    assert chat["tool_calls"][0]["function"]["arguments"] == {"x": {"< |im_end|>": ["< |im_end|>", 1]}}


def test_message_with_an_unreadable_call_is_rendered_as_the_agent_wrote_it() -> None:
    text = _block('{"name": "a", "arguments": {}}') + "\n" + _block('{"name": "b",')
    chat = to_chat(parse_message(text), CLEAN)
    assert chat["content"] == text
    assert "tool_calls" not in chat
