"""Answers in a form: a pydantic model that the answer must fit, with a bounded number of repairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from pipeline.records import JsonObject
from pipeline.remote.chat import Chat
from pipeline.remote.faults import Fault, RemoteFault
from pipeline.remote.wire import Usage
from pipeline.tables import dumps

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

NOTHING = Usage()
"""What an answer costs that was not asked for."""

_LONGEST_COMPLAINT = 400
_FORM = "Answer with one JSON object of this JSON schema and nothing else: "


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """What came of a question: a value, or None with the fault; what it cost in both cases."""

    value: T | None
    usage: Usage = NOTHING
    fault: Fault | None = None
    detail: str = ""

    @property
    def reason(self) -> str:
        """The fault as a grade's reason holds it; empty when there is none."""
        return "" if self.fault is None else f"{self.fault.value}: {self.detail}"


def ask_for(
    chat: Chat, form: type[M], messages: Sequence[JsonObject], check: Callable[[M], str | None] | None = None
) -> Asked[M]:
    """Ask for an answer of the shape `form`, whose fields must all be required and whose extra fields forbidden.

    `check` may complain about a value that has the shape. An answer that does not fit goes back with the complaint, at
    most `repairs` times. An empty, cut or refused answer is a fault at once. Raises EndpointError.
    """
    talk, response_format = _request(chat, form, messages)
    spent, complaint = Usage(), ""
    for _ in range(chat.endpoint.repairs + 1):
        try:
            reply = chat.ask(talk, form=response_format)
        except RemoteFault as fault:
            return Asked(None, spent, fault.fault, fault.detail)
        spent += reply.usage
        if reply.fault is not None:
            return Asked(None, spent, reply.fault, reply.detail)
        content = reply.message.content or ""
        value, complaint = _read(form, content, check)
        if value is not None:
            return Asked(value, spent)
        talk = [*talk, {"role": "assistant", "content": content}, {"role": "user", "content": _again(complaint)}]
    return Asked(None, spent, Fault.MALFORMED, complaint)


def json_text(content: str) -> str:
    """The JSON in an answer: thoughts before it and a code fence around it are taken off."""
    text = content.rpartition("</think>")[2].strip()
    if text.startswith("```") and text.endswith("```"):
        text = text[3:-3].removeprefix("json").strip()
    return text


def _request(chat: Chat, form: type[M], messages: Sequence[JsonObject]) -> tuple[list[JsonObject], JsonObject | None]:
    """Messages and `response_format` in the way that the endpoint takes them."""
    schema, talk = form.model_json_schema(), list(messages)
    if chat.endpoint.response_format == "json_schema":
        return talk, {
            "type": "json_schema", "json_schema": {"name": form.__name__, "schema": schema, "strict": True},
        }  # fmt: skip
    talk[-1] = talk[-1] | {"content": f"{talk[-1]['content']}\n\n{_FORM}{dumps(schema)}"}
    return talk, {"type": "json_object"} if chat.endpoint.response_format == "json_object" else None


def _read(form: type[M], content: str, check: Callable[[M], str | None] | None) -> tuple[M | None, str]:
    try:
        value = form.model_validate_json(json_text(content))
    except ValidationError as error:
        faults = error.errors(include_input=False, include_url=False)
        said = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}".lstrip(": ") for fault in faults)
        return None, said[:_LONGEST_COMPLAINT]
    complaint = check(value) if check else None
    return (value, "") if complaint is None else (None, complaint)


def _again(complaint: str) -> str:
    return f"That answer does not fit: {complaint}. Answer again with one JSON object of the form asked for."
