"""An environment's public methods as tools: their schemas, and one call of one of them.

A refused call (`ToolError`) or bad arguments are the agent's own doing: the text goes back to it. Any other exception,
and a call that takes too long, is the environment's fault and raises `EnvironmentFault`.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread
from typing import Any, TypeVar

import jsonschema
from referencing import Registry
from referencing.exceptions import Unresolvable

from pipeline.environments.base import Environment
from pipeline.environments.signatures import plain_schema
from pipeline.errors import InputError, RehearsalError, ToolError
from pipeline.records import JsonObject, Task, ToolCall

T = TypeVar("T")

MAX_ECHO = 300
"""Characters of a bad call that are quoted in the answer to it."""
_SCHEMAS: dict[type[Environment], tuple[JsonObject, ...]] = {}
NOWHERE: Registry[Any] = Registry()
"""Without it a schema from outside could have an address or a file of its choice opened."""
_VALIDATORS: dict[type[Environment], dict[str, jsonschema.Draft202012Validator]] = {}


class EnvironmentFault(RehearsalError, RuntimeError):
    """The environment broke or did not answer in time; the rollout's grades are null."""

    def __init__(self, message: str, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What goes back to the agent; `error` marks a refused or unreadable call."""

    content: str
    error: bool


def tool_schemas(environment: type[Environment]) -> tuple[JsonObject, ...]:
    """Schemas of the tools in the OpenAI form: those that the class gives, or its methods' in the order of definition.

    The latter are what the function that TRL itself uses makes, so that each schema is the same in plain TRL. Raises
    InputError for a method without the type hints or the docstring that a schema needs.
    """
    if environment.schemas is not None:
        return environment.schemas
    if environment not in _SCHEMAS:
        _SCHEMAS[environment] = tuple(_schema(environment, method) for method in environment._tools())
    return _SCHEMAS[environment]


def call_tool(environment: Environment, call: ToolCall, timeout: float | None = None) -> ToolAnswer:
    """Run one call; `timeout` in seconds, None runs it in this thread without a limit. Raises EnvironmentFault."""
    fault = _call_fault(environment, call)
    if fault is not None:
        environment.refused += 1
        return ToolAnswer(f"error: {fault}", error=True)
    limit = None if environment.instant else timeout
    try:
        return ToolAnswer(_timed(environment, call.name, call.arguments or {}, limit), error=False)
    except ToolError as error:
        return ToolAnswer(f"error: {error}", error=True)


def environments_own(work: Callable[[], T]) -> T:
    """Run something of an environment; whatever it raises is its fault, not the agent's and not the pipeline's."""
    try:
        return work()
    except EnvironmentFault:
        raise
    except Exception as error:
        raise EnvironmentFault(f"{type(error).__name__}: {error}") from error


def reset_arguments(task: Task) -> JsonObject:
    """Keyword arguments of `reset` for a task."""
    return {
        "initial_state": task.initial_state, "golden_state": task.golden_state, "golden_calls": list(task.golden_calls),
        "question": task.question,
    }  # fmt: skip


def _timed(environment: Environment, name: str, arguments: JsonObject, timeout: float | None) -> str:
    method = environment._tool(name)
    if timeout is None:
        return _run(name, method, arguments)
    answer: Future[str] = Future()
    # A daemon, so that a tool that never answers does not keep the process from ending.
    Thread(target=_settle, args=(answer, name, method, arguments), name=f"tool {name}", daemon=True).start()
    try:
        return answer.result(timeout)
    except TimeoutError as error:
        raise EnvironmentFault(f"{name}: no answer within {timeout} s", timed_out=True) from error


def _settle(answer: Future[str], name: str, method: Callable[..., Any], arguments: JsonObject) -> None:
    try:
        answer.set_result(_run(name, method, arguments))
    except (ToolError, EnvironmentFault) as error:
        answer.set_exception(error)


def _run(name: str, method: Callable[..., Any], arguments: JsonObject) -> str:
    try:
        return str(method(**arguments))
    except (ToolError, EnvironmentFault):
        raise
    except Exception as error:
        raise EnvironmentFault(f"{name}: {type(error).__name__}: {error}") from error


def _parameters(environment: type[Environment]) -> dict[str, jsonschema.Draft202012Validator]:
    if environment not in _VALIDATORS:
        _VALIDATORS[environment] = {
            schema["function"]["name"]: jsonschema.Draft202012Validator(
                schema["function"]["parameters"] | {"additionalProperties": False}, registry=NOWHERE
            )
            for schema in tool_schemas(environment)
        }
    return _VALIDATORS[environment]


def _call_fault(environment: Environment, call: ToolCall) -> str | None:
    if call.arguments is None:
        return f"unreadable arguments: {call.parse_error}"
    validator = _parameters(type(environment)).get(call.name)
    if validator is None:
        return f"no such tool: {_short(call.name)}"
    try:
        faults = sorted(error.message for error in validator.iter_errors(call.arguments))
    except RecursionError:
        return "bad arguments: nested too deeply"
    except Unresolvable as error:
        raise EnvironmentFault(f"{call.name}: its schema refers to what is not in it: {error}") from error
    return f"bad arguments: {_short(faults[0])}" if faults else None


def _short(text: str) -> str:
    """What a model wrote, short enough to be told back to it, and without halves of characters."""
    shown = text if len(text) <= MAX_ECHO else f"{text[: MAX_ECHO // 2]} ... {text[-MAX_ECHO // 2 :]}"
    return shown.encode("utf-8", "backslashreplace").decode()


def _schema(environment: type[Environment], method: Callable[..., Any]) -> JsonObject:
    plain = plain_schema(method)
    if plain is not None:
        return plain
    # Here and not above: torch comes along, seconds that a stage without a model need not spend.
    from transformers.utils import get_json_schema
    from transformers.utils.chat_template_utils import DocstringParsingException, TypeHintParsingException

    try:
        return _without_return(get_json_schema(method))
    except (DocstringParsingException, TypeHintParsingException) as error:
        raise InputError(
            f"{environment.__name__}.{method.__name__} is public, so it is a tool: {' '.join(str(error).split())}; "
            "give it type hints and a Google-style docstring, or a name with a leading underscore"
        ) from error


def _without_return(schema: JsonObject) -> JsonObject:
    function = {key: value for key, value in schema["function"].items() if key != "return"}
    return {"type": "function", "function": function}
