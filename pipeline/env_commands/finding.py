"""From what stands on the command line to a world, and the list of those there are."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from pipeline.environments.declared import SHIPPED, DeclaredEnvironment, load_environment
from pipeline.environments.worlds import World, load_worlds, make_world
from pipeline.errors import InputError, ParamsError, SpecError
from pipeline.params import EnvironmentsParams, load_params

PARAMS = Path("params.yaml")
_ENDINGS = {
    ".replay.yaml": "replay", ".openenv.yaml": "OpenEnv", ".verifiers.yaml": "verifiers", ".py": "Python",
    ".yaml": "declared",
}  # fmt: skip
"""What ends a file that makes an environment, and the kind of it; the first that fits holds."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One environment that can be named: where it is, its kind, and a line about it or what is wrong with it."""

    name: str
    kind: str
    path: Path
    about: str
    sound: bool = True


def find_world(name: str) -> World:
    """The world of a YAML or Python file, or of a name as in params. Raises SpecError or InputError."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml", ".py") or "/" in name:
        return _from_path(path)
    try:
        return load_worlds(_only(name, own_folder()))[name]
    except ParamsError as error:  # it blames params.yaml, where this name does not come from
        raise InputError(str(error).removeprefix("params.yaml: environments.names: ")) from error


def find_declared(name: str) -> World:
    """Like `find_world`, for an environment that is declared in YAML; others raise InputError."""
    world = find_world(name)
    if not issubclass(world.factory, DeclaredEnvironment):
        raise InputError(
            f"environment {name!r} is not declared in YAML, so there is no spec to check; play it with "
            f"`python -m pipeline env play {name}`"
        )
    said = world.factory.spec.spec.name
    if said != world.name:
        raise SpecError(
            f"{name}: name: is {said!r}; an environment is called like its file, so call it {world.name!r} or rename "
            "the file"
        )
    return world


def own_folder() -> Path:
    """`environments.folder` of params.yaml; without that file, where the shipped ones lie."""
    return Path(load_params(PARAMS).environments.folder) if PARAMS.is_file() else SHIPPED


def list_environments() -> list[Entry]:
    """Shipped environments and the user's own, by name; declared ones are loaded, others not run."""
    found: dict[str, Path] = {}
    for folder in dict.fromkeys((SHIPPED, own_folder().resolve())):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if _kind(path) is not None and not path.name.startswith(("_", ".")):
                found[path.name.partition(".")[0]] = path
    return [_entry(name, path) for name, path in sorted(found.items())]


def _from_path(path: Path) -> World:
    kind = _kind(path)
    if kind == "declared" or path.suffix == ".yml":
        return make_world(path.stem, load_environment(path))
    if kind is None:
        raise InputError(f"{path}: no environment is made from such a file; name a .yaml or a .py file")
    name = path.name.partition(".")[0]
    return load_worlds(_only(name, path.parent))[name]


def _only(name: str, folder: Path) -> EnvironmentsParams:
    try:
        return EnvironmentsParams(names=(name,), folder=str(folder))
    except ValidationError as error:
        said = "no name of an environment: it has a letter first, then letters, digits, _ or -"
        raise InputError(f"{name!r} is {said}; `python -m pipeline env list` shows all") from error


def _kind(path: Path) -> str | None:
    return next((kind for ending, kind in _ENDINGS.items() if path.name.endswith(ending)), None)


def _entry(name: str, path: Path) -> Entry:
    kind = _kind(path) or ""
    if kind != "declared":
        return Entry(name, kind, path, "")
    try:
        spec = load_environment(path).spec
    except SpecError as error:
        return Entry(name, kind, path, str(error), sound=False)
    counts = f"{len(spec.tools)} tools, {len(spec.templates)} templates"
    return Entry(name, kind, path, f"{' '.join(spec.spec.about.split())} {counts}.")
