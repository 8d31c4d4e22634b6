"""Where a remote model answers and what it may cost, as values in params.

The key itself is never a value: params name the environment variable that holds it.
"""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from pipeline.records import JsonObject
from pipeline.section import Count, Positive, Rate, Section

OWN_FIELDS = ("model", "messages", "tools", "response_format", "temperature", "max_tokens", "stream", "n")
"""Fields of a request that are set here; `extra` may not name them."""


class Budget(Section):
    """What may be spent on one piece of work; beyond it answers are null with the reason over_budget."""

    calls: Positive = 100_000
    """Answers, repairs included."""
    tokens: Positive = 100_000_000
    """Prompt and completion tokens together, as the server counts them."""


class Endpoint(Section):
    """One model behind an OpenAI-compatible address."""

    base_url: str
    """Such as http://127.0.0.1:8000/v1; `/chat/completions` is added."""
    model: Annotated[str, Field(min_length=1)]
    key_env: Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """Name of the environment variable that holds the key; None where the server wants none."""
    temperature: Annotated[float, Field(ge=0)] | None = 0.0
    """None leaves the field out, for models that take none."""
    max_tokens: Positive | None = 1024
    """Of one answer; None leaves the field out, for servers that know another name (see `extra`)."""
    response_format: Literal["json_schema", "json_object", "none"] = "json_schema"
    """How a structured answer is asked for; with the last two the schema stands in the prompt."""
    extra: JsonObject = Field(default_factory=dict)
    """Further fields of the request, such as `reasoning_effort`."""
    timeout: Rate = 60.0
    """Seconds for one whole answer."""
    retries: Count = 4
    """Further tries of a request that failed for a passing reason."""
    backoff: Annotated[float, Field(ge=0)] = 0.5
    """Seconds before the first further try; doubles with each."""
    repairs: Count = 2
    """How often a malformed structured answer goes back with what is wrong with it."""
    concurrency: Positive = 8
    """Requests under way at once; no result depends on it."""
    give_up: Count = 20
    """Failed requests in a row after which the stage ends with an error; 0 never."""
    budget: Budget = Budget()

    @field_validator("base_url")
    @classmethod
    def _plain_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an address such as http://127.0.0.1:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("must hold no user, key or query; name the variable of the key in `key_env`")
        return value.rstrip("/")

    @field_validator("extra")
    @classmethod
    def _nothing_of_ours(cls, value: JsonObject) -> JsonObject:
        taken = sorted(set(value) & set(OWN_FIELDS))
        if taken:
            raise ValueError(f"{', '.join(taken)} cannot be set here")
        if any(name.lower().replace("-", "_") in ("api_key", "apikey", "key", "authorization") for name in value):
            raise ValueError("must hold no key; name the variable of the key in `key_env`")
        return value


class TeacherParams(Endpoint):
    """A model that demonstrates train tasks. Its budget is for all of its runs."""

    tasks: Positive
    """Train tasks it plays, those behind the ones with a golden demonstration."""
    tries: Positive = 1
    """Runs of each; above 1 only a temperature above 0 makes them differ."""
    max_turns: Positive = 30
    """Answers after which a run is given up."""
    tool_timeout: Rate = 10.0
    """Seconds one tool call may take."""
