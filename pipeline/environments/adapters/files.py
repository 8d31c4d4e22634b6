"""The files that name other people's environments, and how they are read."""

from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pipeline.errors import InputError
from pipeline.records import JsonObject
from pipeline.section import Positive, Rate, Section

F = TypeVar("F", bound=Section)


class OpenEnvFile(Section):
    """`NAME.openenv.yaml`: a server that is running."""

    base_url: str
    """Such as http://127.0.0.1:8000; `/ws` is added."""
    procedure: str = ""
    """The system message of every episode; empty means that there is none."""
    timeout: Rate = 60.0
    """Seconds for one answer of the server; a tool call also keeps to `rollouts.tool_timeout`."""
    key_env: Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """Name of the environment variable with the server's bearer token; None where it wants none."""

    @field_validator("base_url")
    @classmethod
    def _plain_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must be an address such as http://127.0.0.1:8000")
        return value.rstrip("/")


class VerifiersFile(Section):
    """`NAME.verifiers.yaml`: an installed taskset."""

    taskset: Annotated[str, Field(pattern=r"^[A-Za-z0-9_./@-]+$")]
    """Its id, which is the name of its package; `owner/name@version` of the hub works too."""
    config: JsonObject = Field(default_factory=dict)
    """Values of the taskset's own config."""
    limit: Positive | None = None
    """How many tasks are taken, in the taskset's order; None takes all."""
    procedure: str = ""
    """The system message of every episode; empty means that there is none."""
    timeout: Rate = 60.0
    """Seconds for setting a task up, and for scoring it."""


def read_file(path: Path, kind: type[F]) -> F:
    """The values of `path`. Raises InputError with one line for each fault."""
    try:
        raw = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc'])) or 'document'}: {fault['msg']}" for fault in error.errors())
        raise InputError("; ".join(f"{path}: {fault}" for fault in faults)) from error
