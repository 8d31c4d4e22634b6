"""An environment from a Python file of the user: the file's one public class that has `reset`."""

import inspect
from pathlib import Path
from types import ModuleType

from pipeline.environments.base import Environment
from pipeline.environments.foreign import adapt
from pipeline.errors import InputError
from pipeline.user_file import run_file


def load_python(path: Path) -> type[Environment]:
    """Run the file and take its class: a subclass of `Environment` as it is, any other one adapted.

    Raises InputError when the file cannot be run, or has no such class or several.
    """
    cls = _only_class(path, run_file(path))
    if issubclass(cls, Environment):
        return cls
    if not inspect.isfunction(getattr(cls, "get_reward", None)):
        raise InputError(f"{path}: class {cls.__name__} has no method get_reward, so that nothing says how a try went")
    return adapt(cls)


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
