"""Presets: named sets of values for params.yaml, each a YAML file beside this module.

A preset names only what differs between presets; every preset names the same keys, so that going from one to another
and back leaves params.yaml as it was, comments included.
"""

import difflib
import io
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import RoundTripRepresenter

from pipeline.errors import ParamsError
from pipeline.params import load_params, parse_params
from pipeline.tables import whole_file

FOLDER = Path(__file__).parent
PARAMS = Path("params.yaml")


def preset_names() -> list[str]:
    """Names of all presets, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def preset_keys(name: str) -> set[str]:
    """Dotted names of the values that preset `name` sets. Raises ParamsError for an unknown name."""
    return set(_leaves(_read(name)))


def apply_preset(name: str, path: Path = PARAMS) -> list[str]:
    """Rewrite the values that preset `name` names in `path`; returns one `key: old -> new` line for each change.

    The result is validated before anything is written, and written whole. Raises ParamsError.
    """
    values = _leaves(_read(name))
    load_params(path)
    document = _yaml().load(path.read_text(encoding="utf-8"))
    changes = [line for key, value in {"preset": name, **values}.items() if (line := _set(document, key, value))]
    text = io.StringIO()
    _yaml().dump(document, text)
    parse_params(YAML(typ="safe").load(text.getvalue()), f"preset {name}")
    with whole_file(path, "w") as stream:
        stream.write(text.getvalue())
    return changes


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width = 4096
    yaml.preserve_quotes = True
    yaml.representer.add_representer(type(None), _null)
    return yaml


def _null(representer: RoundTripRepresenter, _: None) -> ScalarNode:
    """`null` in so many words: ruamel would leave an empty place."""
    written: ScalarNode = representer.represent_scalar("tag:yaml.org,2002:null", "null")
    return written


def _read(name: str) -> CommentedMap:
    if name not in preset_names():
        close = difflib.get_close_matches(name, preset_names(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(preset_names())}"
        raise ParamsError(f"unknown preset {name!r}; {hint}")
    document: CommentedMap = _yaml().load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return document


def _leaves(node: CommentedMap, prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in node.items():
        if isinstance(value, CommentedMap):
            found.update(_leaves(value, f"{prefix}{key}."))
        else:
            found[f"{prefix}{key}"] = value
    return found


def _set(document: CommentedMap, dotted: str, value: Any) -> str:
    """Set one value in place; returns what changed, or an empty string."""
    *parents, key = dotted.split(".")
    node = document
    for parent in parents:
        node = node[parent]
    old = node[key]
    if old == value:
        return ""
    node[key] = value
    for token in node.ca.items.get(key, []):
        if token is not None:
            token.start_mark.column = 0  # one space before the comment, however long the value is now
    return f"{dotted}: {old} -> {value}"
