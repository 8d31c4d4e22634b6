"""Runs a Python file of the user: an environment or a grader of their own. Nothing else from outside is ever run."""

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from pipeline.errors import InputError

PREFIX = "rehearsal_own_"


def run_file(path: Path) -> ModuleType:
    """The module that `path` defines. Raises InputError, with the line, when it cannot be run."""
    name = f"{PREFIX}{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # type hints and dataclasses of the file look their module up here
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InputError(f"{path}{own_line(error)}: cannot be run: {type(error).__name__}: {error}") from error
    return module


def own_line(error: BaseException) -> str:
    """`:12`, the line of the user's file at which it went wrong, where that is known."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    lines = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").startswith(PREFIX):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f":{lines[-1]}" if lines else ""
