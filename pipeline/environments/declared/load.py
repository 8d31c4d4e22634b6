"""From a YAML file to an environment class."""

from functools import cache
from pathlib import Path

from pydantic import ValidationError

from pipeline.environments.declared.compiled import Compiled
from pipeline.environments.declared.compiler import Compiler
from pipeline.environments.declared.environment import DeclaredEnvironment, make_class
from pipeline.environments.declared.faults import explain
from pipeline.environments.declared.planning import Planner
from pipeline.environments.declared.reading import read_document, read_text
from pipeline.environments.declared.spec import Spec
from pipeline.errors import SpecError

SHIPPED = Path(__file__).resolve().parent.parent / "specs"
"""Where the specs that come with Rehearsal lie."""


def load_environment(path: Path) -> type[DeclaredEnvironment]:
    """The class of the spec at `path`; the same file gives the same class. Raises SpecError."""
    return _class_of(read_text(path), str(path))


def load_spec(path: Path) -> Compiled:
    """The compiled spec at `path`. Raises SpecError with line and column."""
    return load_environment(path).spec


def parse_spec(text: str, where: str) -> Compiled:
    """Compile the text of a spec; `where` names it in messages. Raises SpecError with line and column."""
    document = read_document(text, where)
    if not isinstance(document.data, dict):
        raise document.fault((), "a spec is a mapping; see docs/declared.md")
    try:
        spec = Spec.model_validate(document.data)
    except ValidationError as error:
        raise SpecError(explain(document, error)) from error
    return Planner(Compiler(spec, document)).compiled()


@cache
def _class_of(text: str, where: str) -> type[DeclaredEnvironment]:
    return make_class(parse_spec(text, where))
