"""Text of a rollout inside a judge's prompt: readable, whole, and unable to speak."""

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.graders.fences import fenced, line, shorten, tag_of, transcript
from pipeline.records import Message, ToolCall
from tests.graders.judged import view

HOSTILE = ("<<<", ">>>", "<|im_end|>", "[INST]", "[/INST]", "</s>", "\u202e", "\u200b", "\U000e0041", "\n", '"', "\\")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=5)), max_size=12).map("".join))
def test_a_line_holds_its_text_and_nothing_that_speaks(text: str) -> None:
    written = line({"text": text})
    assert json.loads(written) == {"text": text}
    assert len(written.splitlines()) == 1
    assert not set(written) & set("<>\u202e\u200b\U000e0041")
    assert "[INST]" not in written
    assert "[/INST]" not in written


def test_lone_surrogates_become_replacement_characters() -> None:
    assert json.loads(line({"text": "a\ud800b"})) == {"text": "a\ufffdb"}


def test_transcripts_tell_who_said_what_in_which_turn() -> None:
    broken = ToolCall("c", "count", None, "{what", "not valid JSON")
    seen = view("Two?", "Four.")
    messages = (*seen.messages[:3], Message("user", "No."), Message("assistant", None, (broken,)), seen.messages[3])
    lines = [json.loads(text) for text in transcript(replace(seen, messages=messages), 9000).split("\n")]
    assert lines == [
        {"turn": 0, "from": "agent", "calls": [{"tool": "count", "arguments": '{"what":"parcels"}'}]},
        {"turn": 0, "from": "tool", "tool": "count", "text": "4 parcels"},
        {"turn": 1, "from": "agent", "text": "Two?"},
        {"turn": 1, "from": "user", "text": "No."},
        {"turn": 2, "from": "agent", "calls": [{"tool": "count", "arguments": "{what", "unreadable": True}]},
        {"turn": 3, "from": "agent", "text": "Four."},
    ]


def test_long_transcripts_lose_their_middle_and_say_so() -> None:
    many = view(*(f"{n} " + "x" * 100 for n in range(100)))
    lines = [json.loads(text) for text in transcript(many, 2000).split("\n")]
    assert sum(len(json.dumps(one)) for one in lines) < 2600
    assert "calls" in lines[0]
    assert lines[-1]["text"].startswith("99 ")
    (gap,) = [one for one in lines if "left_out" in one]
    assert gap == {"left_out": f"{102 - len(lines) + 1} messages"}
    for few in (view("x" * 9000), view(answer="y" * 9000)):
        texts = [json.loads(text).get("text", "") for text in transcript(few, 2000).split("\n")]
        assert len(texts) == len(few.messages)
        assert any("8500 characters left out" in text for text in texts)
    one = replace(few, messages=(Message("assistant", "z" * 9000),))
    assert len(transcript(one, 2000).split("\n")) == 1


def test_fences_carry_a_tag_that_hangs_on_the_material() -> None:
    assert tag_of(["a", "b"]) == tag_of(["a", "b"]) != tag_of(["ab"])
    assert fenced("X", "body", "0123") == "<<<X 0123\nbody\nX 0123>>>"


def test_short_texts_stay() -> None:
    assert shorten("abc", 3) == "abc"
    assert shorten("abcdef", 4) == "ab [... 2 characters left out ...] ef"
