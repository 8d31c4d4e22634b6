"""The worlds that a run uses: made once by each stage from `params.environments`, and passed on from there.

A name stands for a shipped environment. Nothing is registered and nothing is global: who needs a world is handed it.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.environments.base import Environment
from pipeline.environments.claims import ClaimsEnvironment
from pipeline.environments.tools import tool_schemas
from pipeline.errors import ParamsError
from pipeline.params import EnvironmentsParams
from pipeline.records import JsonObject

SHIPPED: dict[str, type[Environment]] = {"claims": ClaimsEnvironment}
"""Environments that come with the package, by name."""


@dataclass(frozen=True, slots=True)
class World:
    """An environment and what an agent in it is told. One instance of `factory` serves one rollout."""

    name: str
    factory: type[Environment]
    """Class of TRL's environment_factory shape."""
    tools: tuple[JsonObject, ...]
    """Schemas of its tools in the OpenAI form."""
    procedure: str
    """The system message of every episode; empty means that there is none."""
    fingerprint: str = ""
    """Hash of the file that defines it where that lies outside the package's code; finished work is keyed by it."""


Worlds = Mapping[str, World]
"""The worlds of a run by name, in the order of params."""


def make_world(name: str, factory: type[Environment]) -> World:
    """The world that a class defines."""
    return World(name, factory, tool_schemas(factory), factory.procedure)


def load_worlds(params: EnvironmentsParams) -> dict[str, World]:
    """The worlds that params name, in their order. Raises ParamsError for an unknown name."""
    return {name: make_world(name, _factory(name)) for name in params.names}


def _factory(name: str) -> type[Environment]:
    if name not in SHIPPED:
        close = difflib.get_close_matches(name, SHIPPED, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(SHIPPED))}"
        raise ParamsError(f"params.yaml: environments.names: no environment {name!r}; {hint}")
    return SHIPPED[name]
