"""The worlds an agent can act in, by name."""

from pipeline.environments.base import Environment
from pipeline.environments.claims import ClaimsEnvironment

ENVIRONMENTS: dict[str, type[Environment]] = {"claims": ClaimsEnvironment}

__all__ = ["ENVIRONMENTS", "ClaimsEnvironment", "Environment"]
