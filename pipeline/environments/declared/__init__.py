"""Environments declared in one YAML file: tables, tools, procedure and task templates, without a line of code."""

from pipeline.environments.declared.environment import DeclaredEnvironment
from pipeline.environments.declared.load import SHIPPED, load_environment, load_spec

__all__ = ["SHIPPED", "DeclaredEnvironment", "load_environment", "load_spec"]
