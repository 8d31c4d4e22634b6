"""An environment from a Python file of the user: the file's one public class that has `reset`."""

import hashlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType

from pipeline.environments.base import Environment
from pipeline.environments.foreign import adapt
from pipeline.errors import InputError


def load_python(path: Path) -> type[Environment]:
    """Run the file and take its class: a subclass of `Environment` as it is, any other one adapted.

    Raises InputError when the file cannot be run, or has no such class or several.
    """
    cls = _only_class(path, _run(path))
    if issubclass(cls, Environment):
        return cls
    if not inspect.isfunction(getattr(cls, "get_reward", None)):
        raise InputError(f"{path}: class {cls.__name__} has no method get_reward, so that nothing says how a try went")
    return adapt(cls)


def _run(path: Path) -> ModuleType:
    name = f"rehearsal_own_{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # type hints and dataclasses of the file look their module up here
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InputError(f"{path}{_line(error)}: cannot be run: {type(error).__name__}: {error}") from error
    return module


def _line(error: BaseException) -> str:
    """`:12`, the line of the user's file at which it went wrong, where that is known."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    lines = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").startswith("rehearsal_own_"):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f":{lines[-1]}" if lines else ""


def _only_class(path: Path, module: ModuleType) -> type:
    found = [
        value
        for name, value in vars(module).items()
        if inspect.isclass(value) and not name.startswith("_") and callable(getattr(value, "reset", None))
    ]
    classes = list(dict.fromkeys(cls for cls in found if cls is not Environment))
    own = [cls for cls in classes if cls.__module__ == module.__name__] or classes
    if len(own) == 1:
        return own[0]
    what = f"several public classes with `reset` ({', '.join(cls.__name__ for cls in own)})" if own else None
    raise InputError(
        f"{path}: {what or 'no public class with `reset`'}; leave exactly one: a leading underscore hides a class"
    )
