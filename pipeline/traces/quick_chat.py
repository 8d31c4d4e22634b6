"""A shortcut for chat rows of the most frequent shape: from the row to the text of its messages, without a `Message`.

What is made here equals what `openai_chat.parse_row` and `messages_to_json` make together; every row that holds
anything unusual, faults included, is left to them. It is worth its lines because most bytes of most folders pass here.
"""

import json
from typing import Any, NamedTuple
from uuid import uuid4

import orjson

from pipeline.errors import TraceError
from pipeline.records import JsonObject, Trace
from pipeline.traces.decode import NO_REPAIRS
from pipeline.traces.framing import Record
from pipeline.traces.lines import Line
from pipeline.traces.origin import assemble, row_origin
from pipeline.traces.tools import NO_TOOLS, Tools, read_tools

_KEY = b'"tools":'
_ROLES = {"system": "system", "developer": "system", "user": "user"}
_RARE = frozenset({"function_call", "refusal", "reasoning_content", "reasoning", "weight", "loss_weight", "name"})
"""Keys of a message that mean something to `openai_chat`; all but these and the usual ones it passes over."""


class Told(NamedTuple):
    """A trace whose messages are JSON text already."""

    trace: Trace
    """Without its messages."""
    messages: bytes


class QuickChat:
    """Reads the rows of one file; the tools of the last row are kept, because the next mostly has the same."""

    def __init__(self, source: str, form: str, keys: frozenset[str]) -> None:
        self._source, self._form, self._keys = source, form, keys
        self._text, self._tools = b"", NO_TOOLS
        self._spelt: bytes | None = None
        """The tools as lines spell them, once two rows had the same: they are not parsed again."""
        self._mark = uuid4().hex  # takes their place, and is no value of any file

    def of_line(self, line: Line) -> Told | None:
        """The trace of a line of JSON Lines; None when it is not of the usual shape."""
        try:
            row = self._row(line.data)
        except orjson.JSONDecodeError:
            return None
        text = self._text
        told = self.of_record(Record(line.number, line.offset, row, NO_REPAIRS, None))
        if told is not None and self._spelt is None and text and text == self._text:
            self._spelt = _spelling(line.data, text)
        return told

    def of_record(self, record: Record) -> Told | None:
        """The trace of a record; None when it is not of the usual shape."""
        row = record.value
        if record.repairs is not NO_REPAIRS or not isinstance(row, dict):
            return None
        try:
            found = _messages(row.get("messages"))
            if found is None:
                return None
            content, notes = found
            origin = row_origin(row, self._keys)
            metadata = origin.metadata | notes
            trace = assemble(record, self._source, self._form, origin, self._read_tools(row), metadata, (), content)
        except (TraceError, KeyError, TypeError, AttributeError, orjson.JSONDecodeError):
            return None  # whoever reads it slowly says what is wrong, if anything is
        return Told(trace, content)

    def _row(self, data: bytes) -> Any:
        # Not behind the last place where they fit, so that their own text is not searched.
        start = data.rfind(_KEY, 0, max(0, len(data) - len(self._spelt or b""))) + len(_KEY)
        if self._spelt and data.startswith(self._spelt, start):
            row = orjson.loads(b'%b"%b"%b' % (data[:start], self._mark.encode(), data[start + len(self._spelt) :]))
            if isinstance(row, dict) and row.get("tools") == self._mark:  # and not somewhere further inside
                return row
        return orjson.loads(data)

    def _read_tools(self, row: JsonObject) -> Tools:
        key = "tools" if row.get("tools") else "functions"
        raw = row.get(key)
        if not raw:
            return NO_TOOLS
        if raw == self._mark:
            return self._tools
        text = orjson.dumps(raw)
        if text != self._text:
            self._text, self._tools, self._spelt = text, read_tools(raw, key), None
        return self._tools


def _spelling(data: bytes, text: bytes) -> bytes | None:
    """The bytes of a line that say `text` after its last key for tools, in one of the usual ways of writing JSON."""
    start = data.rfind(_KEY) + len(_KEY)
    if data.startswith(text, start):
        return text
    value = orjson.loads(text)
    spaced = (b" " + json.dumps(value, ensure_ascii=ascii_only).encode() for ascii_only in (True, False))
    return next((each for each in spaced if data.startswith(each, start)), b"")


def _messages(raw: Any) -> tuple[bytes, JsonObject] | None:
    """JSON text of the messages, and notes. Raises TypeError, KeyError, JSONDecodeError for what is not usual."""
    if type(raw) is not list:
        return None
    said: list[JsonObject] = []
    waiting: set[str] = set()
    for message in raw:
        found = _message(message, waiting)
        if found is None:
            return None
        said.append(found)
    roles = {message["role"] for message in said}
    if "assistant" not in roles:
        return None
    notes: JsonObject = {"linked_by": "id"} if "tool" in roles else {}
    if waiting:
        notes["unanswered_calls"] = len(waiting)
    return orjson.dumps(said), notes


def _message(message: Any, waiting: set[str]) -> JsonObject | None:
    """The message as it is written; `waiting` are the ids of calls without a result."""
    role, content = message["role"], message.get("content")
    if content is not None and type(content) is not str:
        return None
    if role == "tool":
        if "name" in message:
            return None
        waiting.remove(message["tool_call_id"])
        return {"role": "tool", "content": content, "tool_call_id": message["tool_call_id"]}
    if not _RARE.isdisjoint(message):
        return None
    if role != "assistant":
        return {"role": _ROLES[role], "content": content}
    entries = message.get("tool_calls")
    if not entries:
        return {"role": "assistant", "content": content} if entries is None or entries == [] else None
    if waiting or (calls := _calls(entries, waiting)) is None:
        return None
    return {"role": "assistant", "content": content, "tool_calls": calls}


def _calls(entries: Any, waiting: set[str]) -> list[JsonObject] | None:
    if type(entries) is not list:
        return None
    calls: list[JsonObject] = []
    for entry in entries:
        function = entry.get("function") if type(entry) is dict else None
        if type(function) is not dict:
            return None
        call_id, name, raw = entry.get("id"), function.get("name"), function.get("arguments")
        if not (type(call_id) is type(name) is type(raw) is str and call_id and name) or call_id in waiting:
            return None
        arguments = orjson.loads(raw)
        if type(arguments) is not dict:
            return None
        waiting.add(call_id)
        calls.append({"id": call_id, "name": name, "arguments": arguments, "raw_arguments": raw})
    return calls
