"""The worlds an agent can act in."""

from pipeline.environments.base import Environment

__all__ = ["Environment"]
