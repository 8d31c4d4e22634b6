"""The project's own params as plain values, with some replaced."""

from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML

from tests.conftest import ROOT


def raw_params(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The parsed params.yaml; `changes` by dotted name."""
    document: dict[str, Any] = YAML(typ="safe").load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    for dotted, value in changes.items():
        *parents, key = dotted.split(".")
        node = document
        for parent in parents:
            node = node[parent]
        node[key] = value
    return document
