"""A lookup of two heights, with one tool that fails, as each recorder of spans would write it."""

from typing import Any

import orjson

from pipeline.records import JsonObject
from tests.traces.helpers import lines

SYSTEM: JsonObject = {"role": "system", "content": "Answer briefly."}
ASK: JsonObject = {"role": "user", "content": "How tall are mast and keel?"}
CALLS: JsonObject = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "measure", "arguments": '{"part": "mast"}'}},
        {"id": "c2", "type": "function", "function": {"name": "measure", "arguments": '{"part": "keel"}'}},
    ],
}
RESULTS: list[JsonObject] = [
    {"role": "tool", "tool_call_id": "c1", "content": "12"},
    {"role": "tool", "tool_call_id": "c2", "content": "no keel"},
]
DONE: JsonObject = {"role": "assistant", "content": "The mast is 12 m; there is no keel."}
HISTORY = [SYSTEM, ASK, CALLS, *RESULTS]
SCHEMA: JsonObject = {"name": "measure", "description": "Measure a part.", "parameters": {"type": "object"}}
TOOL: JsonObject = {"type": "function", "function": SCHEMA}
ROLES = ["system", "user", "assistant", "tool", "tool", "assistant"]


def text(value: Any) -> str:
    """JSON text."""
    return orjson.dumps(value).decode()


def otlp(attributes: JsonObject) -> list[JsonObject]:
    """Attributes in OTLP's list of typed values."""
    kinds = {str: "stringValue", bool: "boolValue", float: "doubleValue"}

    def typed(value: Any) -> JsonObject:
        if isinstance(value, list):
            return {"arrayValue": {"values": [typed(each) for each in value]}}
        if isinstance(value, dict):
            return {"kvlistValue": {"values": otlp(value)}}
        return {"intValue": str(value)} if type(value) is int else {kinds[type(value)]: value}

    return [{"key": key, "value": typed(value)} for key, value in attributes.items()]


def span(number: int, parent: int | None, name: str, attributes: JsonObject, **beside: Any) -> JsonObject:
    """A span of OTLP JSON, `number` seconds after the start."""
    found: JsonObject = {"traceId": beside.pop("trace", "t1"), "spanId": f"s{number}", "name": name,
                         "startTimeUnixNano": str(1_700_000_000_000_000_000 + number * 10**9),
                         "attributes": otlp(attributes), **beside}  # fmt: skip
    return found | ({} if parent is None else {"parentSpanId": f"s{parent}"})


def batch(*spans: JsonObject) -> JsonObject:
    """Spans in one batch."""
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def parts(message: JsonObject) -> JsonObject:
    """A chat message in OpenTelemetry's form."""
    found: list[JsonObject] = []
    if message["role"] == "tool":
        found.append({"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]})
    elif message["content"] is not None:
        found.append({"type": "text", "content": message["content"]})
    for call in message.get("tool_calls", []):
        function = call["function"]
        arguments = orjson.loads(function["arguments"])
        found.append({"type": "tool_call", "id": call["id"], "name": function["name"], "arguments": arguments})
    return {"role": message["role"], "parts": found}


def genai_spans(trace: str = "t1", **first: Any) -> list[JsonObject]:
    """An agent's run in the conventions of today; the keywords add attributes to the first call of the model."""

    def chat(heard: list[JsonObject], said: JsonObject, **beside: Any) -> JsonObject:
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m-1",
            "gen_ai.system_instructions": text([{"type": "text", "content": SYSTEM["content"]}]),
            "gen_ai.input.messages": text([parts(each) for each in heard]),
            "gen_ai.output.messages": text([parts(said) | {"finish_reason": "stop"}]),
            "gen_ai.tool.definitions": text([{"type": "function", **SCHEMA}]),
            **beside,
        }

    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "measure"}
    failed = {"status": {"code": 2, "message": "no such part"}}
    return [
        span(0, None, "invoke_agent", {"gen_ai.operation.name": "invoke_agent"}, trace=trace, status={"code": 1}),
        span(1, 0, "chat m-1", chat([ASK], CALLS, **first), trace=trace),
        span(2, 0, "measure", ran | {"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": "12"}, trace=trace),
        span(3, 0, "measure", ran | {"gen_ai.tool.call.id": "c2"}, trace=trace, **failed),
        span(4, 0, "chat m-1", chat(HISTORY[1:], DONE), trace=trace),
    ]


def wrapped(messages: list[JsonObject], prefix: str) -> JsonObject:
    """Messages in OpenInference's flat attributes."""
    found: JsonObject = {}
    for at, message in enumerate(messages):
        place = f"{prefix}.{at}.message"
        found |= {
            f"{place}.{key}": value for key, value in message.items() if key != "tool_calls" and value is not None
        }
        for number, call in enumerate(message.get("tool_calls", [])):
            inner = f"{place}.tool_calls.{number}.tool_call"
            found[f"{inner}.id"] = call["id"]
            found |= {f"{inner}.function.{key}": value for key, value in call["function"].items()}
    return dict(sorted(found.items()))  # as exporters sort them: 10 before 2


def phoenix(number: int, parent: int | None, kind: str, attributes: JsonObject, **beside: Any) -> JsonObject:
    """A span of Phoenix' JSON."""
    found: JsonObject = {"name": kind.lower(), "context": {"trace_id": "t1", "span_id": f"s{number}"},
                         "parent_id": None if parent is None else f"s{parent}", "span_kind": kind,
                         "start_time": f"2025-01-01T00:00:{number:02}.000000+00:00", "status_code": "OK",
                         "status_message": "", "attributes": {"openinference.span.kind": kind, **attributes},
                         "events": []}  # fmt: skip
    return found | beside


def phoenix_spans() -> list[JsonObject]:
    """The run in OpenInference's conventions."""
    tools = {"llm.tools.0.tool.json_schema": text(TOOL)}
    first = wrapped([SYSTEM, ASK], "llm.input_messages") | wrapped([CALLS], "llm.output_messages")
    last = wrapped(HISTORY, "llm.input_messages") | wrapped([DONE], "llm.output_messages")
    raised = [{"name": "exception", "attributes": {"exception.type": "KeyError", "exception.message": "keel"}}]
    return [
        phoenix(0, None, "AGENT", {"input.value": "How tall?"}),
        phoenix(1, 0, "LLM", first | tools | {"llm.model_name": "m-1"}),
        phoenix(2, 0, "TOOL", {"tool.name": "measure", "input.value": '{"part": "mast"}', "output.value": "12"}),
        phoenix(3, 0, "TOOL", {"tool.name": "measure", "input.value": '{"part": "keel"}'}, status_code="ERROR",
                events=raised),
        phoenix(4, 0, "LLM", last | tools),
    ]  # fmt: skip


def observed(number: int, kind: str, asked: Any, answered: Any, **beside: Any) -> JsonObject:
    """An observation of Langfuse."""
    return {"id": f"o{number}", "traceId": "t1", "type": kind, "name": kind.lower(),
            "parentObservationId": "o0" if number else None, "startTime": f"2025-01-01T00:00:{number:02}.000Z",
            "input": text(asked), "output": text(answered), "metadata": "{}", "level": "DEFAULT",
            "statusMessage": None, **beside}  # fmt: skip


def langfuse_export(*scores: JsonObject, **beside: Any) -> JsonObject:
    """The run as Langfuse exports it, out of time order."""
    trace = {"id": "t1", "name": "heights", "timestamp": "2025-01-01T00:00:00.000Z", "projectId": "p",
             "scores": list(scores), "metadata": text({"task_id": "heights", "trial": 2}), **beside}  # fmt: skip
    observations = [
        observed(4, "GENERATION", HISTORY, DONE),
        observed(0, "SPAN", {"q": "How tall?"}, None),
        observed(3, "TOOL", {"part": "keel"}, None, name="measure", level="ERROR", statusMessage="no keel"),
        observed(1, "GENERATION", {"messages": [SYSTEM, ASK], "tools": [TOOL]}, CALLS, model="m-1"),
        observed(2, "TOOL", {"part": "mast"}, 12, name="measure"),
    ]
    return {"trace": trace, "observations": observations}


def score(name: str, value: Any, **beside: Any) -> JsonObject:
    """A score of Langfuse."""
    return {"name": name, "value": value, "dataType": "NUMERIC", "source": "EVAL", "observationId": None,
            "timestamp": "2025-01-02T00:00:00.000Z", **beside}  # fmt: skip


def constructor(kind: str, **kwargs: Any) -> JsonObject:
    """A message as LangChain serialises it."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}


def run(number: int, kind: str, **beside: Any) -> JsonObject:
    """A run of LangSmith; number 0 is the root."""
    orders = [f"20250101T00000{n}000000Zr{n}" for n in ([0] if number == 0 else [0, number])]
    return {"id": f"r{number}", "trace_id": "r0", "parent_run_id": None if number == 0 else "r0", "run_type": kind,
            "dotted_order": ".".join(orders), "name": kind, "start_time": f"2025-01-01T00:00:0{number}",
            "error": None, **beside}  # fmt: skip


def langsmith_runs() -> list[JsonObject]:
    """The run as LangChain traces it to LangSmith, the root last."""
    calls = [
        {"name": "measure", "args": {"part": part}, "id": known} for part, known in (("mast", "c1"), ("keel", "c2"))
    ]
    history = [
        constructor("SystemMessage", content=SYSTEM["content"]),
        constructor("HumanMessage", content=ASK["content"]),
        constructor("AIMessage", content="", tool_calls=calls),
        constructor("ToolMessage", content="12", tool_call_id="c1"),
        constructor("ToolMessage", content="no keel", tool_call_id="c2", status="error"),
    ]
    said = constructor("AIMessage", content=DONE["content"])
    return [
        run(1, "llm", inputs={"messages": [history[:2]]}, outputs={"generations": [[{"message": history[2]}]]}),
        run(2, "tool", name="measure", inputs={"input": "{'part': 'mast'}"}, outputs={"output": history[3]}),
        run(3, "llm", inputs={"messages": [history]}, outputs={"generations": [[{"message": said}]]},
            extra={"invocation_params": {"tools": [TOOL]}, "metadata": {"ls_model_name": "m-1"}}),
        run(0, "chain", inputs={"input": "How tall?"}, outputs={"output": DONE["content"]}, end_time="2025-01-01",
            feedback_stats={"correct": {"n": 1, "avg": 1.0}, "style": {"n": 3, "avg": 0.5}}),
    ]  # fmt: skip


def mlflow_span(number: int, kind: str, asked: Any, answered: Any, name: str = "", failed: bool = False) -> JsonObject:
    """A span of an MLflow trace of schema 3; every attribute is JSON text."""
    code = "STATUS_CODE_ERROR" if failed else "STATUS_CODE_OK"
    return {"trace_id": "dA==", "span_id": f"s{number}", "parent_span_id": "s0" if number else None,
            "name": name or kind.lower(), "start_time_unix_nano": 1_700_000_000_000_000_000 + number, "events": [],
            "status": {"code": code, "message": "no keel" if failed else ""},
            "attributes": {"mlflow.spanType": text(kind), "mlflow.spanInputs": text(asked),
                           "mlflow.spanOutputs": text(answered)}}  # fmt: skip


def mlflow_trace(*assessments: JsonObject, **info: Any) -> JsonObject:
    """The run as MLflow writes it: OK, though one tool failed."""
    spans = [
        mlflow_span(0, "AGENT", {"q": "How tall?"}, DONE["content"]),
        mlflow_span(1, "CHAT_MODEL", {"messages": [SYSTEM, ASK], "tools": [TOOL]}, CALLS),
        mlflow_span(2, "TOOL", {"part": "mast"}, 12, "measure"),
        mlflow_span(3, "TOOL", {"part": "keel"}, None, "measure", failed=True),
        mlflow_span(4, "CHAT_MODEL", {"messages": HISTORY}, {"choices": [{"message": DONE, "finish_reason": "stop"}]}),
    ]
    about = {"trace_id": "tr-1", "request_time": "2025-01-01T00:00:00Z", "state": "OK", "tags": {},
             "trace_metadata": {}, "assessments": list(assessments), **info}  # fmt: skip
    return {"info": about, "data": {"spans": spans}}


def _renamed(rows: list[JsonObject], old: str, new: str) -> list[JsonObject]:
    """The same trace under another id."""
    found: list[JsonObject] = orjson.loads(orjson.dumps(rows).replace(old.encode(), new.encode()))
    return found


SPAN_SEEDS: dict[str, bytes] = {
    "otel_genai": lines(batch(*genai_spans("t1")), batch(*genai_spans("t2")), *genai_spans("t3")),
    "openinference": lines(*phoenix_spans(), *_renamed(phoenix_spans(), '"t1"', '"t2"')),
    "langfuse": orjson.dumps(
        [langfuse_export(score("correct", 1)), *_renamed([langfuse_export()], '"t1"', '"t2"')],
        option=orjson.OPT_INDENT_2,
    ),
    "langsmith": lines(*langsmith_runs(), *_renamed(langsmith_runs(), '"trace_id":"r0"', '"trace_id":"q0"')),
    "mlflow_trace": orjson.dumps([mlflow_trace(), mlflow_trace(trace_id="tr-2")], option=orjson.OPT_INDENT_2),
}
"""One small file a format, of two traces or more."""
