"""Somebody else's text inside a prompt, so that it can be read but cannot speak.

Each piece is JSON, one object a line, between two lines that carry a tag derived from all the material: text cannot
hold the hash of itself. Every character that could open a fence, a control token of a chat template, or hide text from
a human reader is written as a JSON escape, so that no look-alike of a fence is left in it at all.
"""

import hashlib
import re
from collections.abc import Sequence

import orjson

from pipeline.graders.view import View
from pipeline.records import JsonObject, Message, ToolCall
from pipeline.remote.wire import clean

# Angle brackets open fences and the control tokens of most templates; "[INST]" and its like those of others. The rest
# is invisible, turns the direction of writing, or ends a line: DEL and C1, soft hyphen, marks, zero widths, tags.
_SPEAKING = re.compile(
    r"[<>]|\[(?=/?[A-Z_]+\])|[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    r"\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_SHARE = 4
"""One text may fill this part of the room of a transcript."""


def tag_of(pieces: Sequence[str]) -> str:
    """16 hex digits that belong to this material."""
    return hashlib.sha256("\0".join(pieces).encode()).hexdigest()[:16]


def fenced(label: str, body: str, tag: str) -> str:
    """`body`, already lines of `line`, between its fences."""
    return f"<<<{label} {tag}\n{body}\n{label} {tag}>>>"


def line(value: JsonObject) -> str:
    """One JSON object as a line of text that holds no fence, no control token and nothing invisible."""
    text = orjson.dumps(clean(value)).decode()
    return _SPEAKING.sub(lambda match: _escaped(match.group()), text)


def transcript(view: View, longest: int) -> str:
    """All that was said and done after the question, one line a message, at most about `longest` characters."""
    lines, turn = [], -1
    for message in view.messages:
        turn += message.role == "assistant"
        lines.append(line(_told(message, max(turn, 0), longest // _SHARE)))
    return "\n".join(_fit(lines, longest))


def shorten(text: str, longest: int) -> str:
    """`text`, with its middle replaced by a note of what is left out where it is longer."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} [... {len(text) - 2 * half} characters left out ...] {text[-half:]}"


def _told(message: Message, turn: int, longest: int) -> JsonObject:
    who = {"assistant": "agent", "tool": "tool", "user": "user", "system": "system"}[message.role]
    told: JsonObject = {"turn": turn, "from": who}
    if message.name:
        told["tool"] = shorten(message.name, longest)
    if message.content or not message.tool_calls:
        told["text"] = shorten(message.content or "", longest)
    if message.tool_calls:
        told["calls"] = [_call(call, longest) for call in message.tool_calls]
    return told


def _call(call: ToolCall, longest: int) -> JsonObject:
    told: JsonObject = {"tool": shorten(call.name, longest), "arguments": shorten(call.raw_arguments, longest)}
    return told if call.parse_error is None else told | {"unreadable": True}


def _fit(lines: list[str], longest: int) -> list[str]:
    """Leave out lines of the middle until the rest fits; the first and the last always stay."""
    if len(lines) < 3 or sum(map(len, lines)) <= longest:
        return lines
    head, tail, room = 1, 1, longest - len(lines[0]) - len(lines[-1])
    while head + tail < len(lines):
        front = head <= tail
        following = lines[head] if front else lines[-tail - 1]
        room -= len(following)
        if room < 0:
            break
        head, tail = head + front, tail + (not front)
    left_out = len(lines) - head - tail
    return [*lines[:head], *([line({"left_out": f"{left_out} messages"})] if left_out else []), *lines[-tail:]]


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))
