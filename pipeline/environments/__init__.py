"""The worlds an agent can act in."""

from pipeline.environments.base import Environment
from pipeline.environments.claims import ClaimsEnvironment

__all__ = ["ClaimsEnvironment", "Environment"]
