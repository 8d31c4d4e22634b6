"""Insurance claims: state, tools and procedure."""

from pipeline.environments.claims.environment import ClaimsEnvironment

__all__ = ["ClaimsEnvironment"]
