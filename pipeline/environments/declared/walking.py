"""The part of compiling that concerns walks: which tools take part, and how the arguments of deeds are drawn."""

import string

from pipeline.environments.declared.bundles import Bundles
from pipeline.environments.declared.compiled import CompiledWalks, Draws
from pipeline.environments.declared.compiler import Compiler, parameter_type
from pipeline.environments.declared.reading import Path
from pipeline.environments.declared.scope import layout_types
from pipeline.environments.declared.spec import Tool

DEEDS = "deeds"
WALK = "walk"
"""Name of the template of tasks that are walks."""


def compile_walks(compiler: Compiler, bundles: Bundles) -> CompiledWalks | None:
    """What walks are made of; None without `walks`. Raises SpecError."""
    spec = compiler.spec
    for name, tool in spec.tools.items():
        _check_intent(compiler, name, tool)
    if spec.walks is None:
        return None
    if WALK in spec.templates or WALK in spec.cases:
        compiler.fail(("walks",), f"their template is called {WALK!r}; call the one of that name otherwise")
    for place, phrases in (("phrases", spec.walks.phrases), ("held_out", spec.walks.held_out)):
        for number, phrase in enumerate(phrases):
            _check_phrase(compiler, ("walks", place, number), phrase, {DEEDS})
    asked = {name: tool for name, tool in spec.tools.items() if tool.intent is not None}
    deeds = tuple(name for name, tool in asked.items() if changes(tool))
    if not deeds:
        compiler.fail(("walks",), "no tool with `change` or `insert` has an `intent`, so nothing can be asked for")
    leads = tuple(name for name, tool in asked.items() if not changes(tool) and _leads(tool))
    return CompiledWalks(spec.walks, deeds, leads, _draws(compiler, bundles, deeds))


def changes(tool: Tool) -> bool:
    """Whether a call of it can change the state."""
    return bool(tool.change) or tool.insert is not None


def _leads(tool: Tool) -> bool:
    return len(tool.parameters) == 1 and all(its.key is not None for its in tool.parameters.values())


def _check_intent(compiler: Compiler, name: str, tool: Tool) -> None:
    if tool.intent is None:
        return
    path: Path = ("tools", name, "intent")
    _check_phrase(compiler, path, tool.intent, set(tool.parameters))
    absent = [parameter for parameter in tool.parameters if f"{{{parameter}}}" not in tool.intent]
    if absent:
        compiler.fail(path, f"does not say {{{absent[0]}}}, which the agent needs to know")


def _check_phrase(compiler: Compiler, path: Path, phrase: str, known: set[str]) -> None:
    try:
        parts = list(string.Formatter().parse(phrase))
    except ValueError as error:
        compiler.fail(path, f"{error}; write {{{{ and }}}} for braces that are meant as such")
    for _, name, layout, conversion in parts:
        if name is not None:
            compiler.known(path, name, known, "value for a phrase")
        if layout or conversion:
            compiler.fail(path, f"{{{name}}} takes no format; write the name alone")
    if known == {DEEDS} and all(name != DEEDS for _, name, _, _ in parts):
        compiler.fail(path, f"does not say {{{DEEDS}}}")


def _draws(compiler: Compiler, bundles: Bundles, deeds: tuple[str, ...]) -> dict[str, Draws]:
    """How the parameters of deeds are drawn that no row and no choice gives."""
    assert compiler.spec.walks is not None
    given, out = compiler.spec.walks.draw, {name: Draws() for name in deeds}
    wanted = {
        f"{name}.{parameter}": its
        for name in deeds for parameter, its in compiler.spec.tools[name].parameters.items() if its.key is None
    }  # fmt: skip
    for dotted in given:
        compiler.known(("walks", "draw", dotted), dotted, wanted, "parameter of a deed")
    for dotted, its in wanted.items():
        name, _, parameter = dotted.partition(".")
        if dotted in given:
            tool = compiler.tools[name]
            types = layout_types(tool.layout, compiler.tables)
            path: Path = ("walks", "draw", dotted)
            out[name][parameter] = bundles.draw(path, given[dotted], types, parameter_type(its))
        elif its.enum is None and its.type != "bool":
            compiler.fail(("tools", name, "intent"), f"say under walks.draw how {dotted} is drawn")
    return out
