"""Documents of others, YAML or JSON, as plain JSON data: bounded, without aliases, nothing built but plain values."""

from pathlib import Path
from typing import Any

import orjson
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent

from pipeline.errors import InputError

MAX_BYTES = 8 * 2**20
MAX_DEPTH = 60


def read_plain(path: Path) -> Any:
    """The data of a JSON or YAML file; dates become text. Raises InputError."""
    text = read_text(path)
    if text.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise InputError(f"{path}: looks like JSON, but is not valid ({error})") from error
    return _yaml(path, text)


def read_text(path: Path) -> str:
    """The text of a file of bounded size. Raises InputError."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file{_hint(path)}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if len(raw) > MAX_BYTES:
        raise InputError(f"{path}: larger than {MAX_BYTES >> 20} MB; cut out the part about the tools you need")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error


def _hint(path: Path) -> str:
    if path.name != "mcp":
        return "; give an OpenAPI file, a tools.json, the answer of an MCP server to tools/list, or traces.parquet"
    return (
        "; save what the server answers to tools/list and give that file: "
        "npx @modelcontextprotocol/inspector --cli COMMAND --method tools/list > tools.json"
    )


def _yaml(path: Path, text: str) -> Any:
    try:
        _check(path, text)
        value = YAML(typ="safe").load(text)
        return orjson.loads(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))
    except InputError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark
        raise InputError(f"{path}{f':{mark.line + 1}:{mark.column + 1}' if mark else ''}: not valid YAML: "
                         f"{error.problem}") from error  # fmt: skip
    except YAMLError as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: holds what JSON cannot say: {error}") from error


def _check(path: Path, text: str) -> None:
    """Refuse what could blow up before anything is built: the parser itself works event by event."""
    depth = 0
    for event in YAML(typ="safe").parse(text):
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        line = f"{path}:{event.start_mark.line + 1}"
        if isinstance(event, AliasEvent):
            raise InputError(f"{line}: aliases are not followed; write the values out, or convert the file to JSON")
        if depth > MAX_DEPTH:
            raise InputError(f"{line}: nested deeper than {MAX_DEPTH}")
