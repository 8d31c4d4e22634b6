"""Where a draft and the tool documentation differ: for a person to look at, no fault of the draft."""

from collections.abc import Iterator

from pipeline.environments.declared.spec import Spec, Tool
from pipeline.synthesis.drafting.documents import Documentation
from pipeline.synthesis.drafting.tool_doc import ToolDoc


def gaps(spec: Spec, documentation: Documentation) -> Iterator[str]:
    """One sentence for each difference, in the order of the documentation, then of the spec."""
    documented = {tool.name: tool for tool in documentation.tools}
    for name, tool in documented.items():
        if name not in spec.tools:
            yield f"tool {name} is documented but not in the draft"
        else:
            yield from _differences(name, spec.tools[name], tool)
    for name in spec.tools:
        if name not in documented:
            yield f"tool {name} is in the draft but not documented"


def _differences(name: str, drafted: Tool, documented: ToolDoc) -> Iterator[str]:
    for parameter, its in documented.parameters.items():
        if parameter not in drafted.parameters:
            yield f"tool {name}: parameter {parameter} is documented{_optional(its)} but not in the draft"
        elif not its.get("required", False):
            yield f"tool {name}: parameter {parameter} may be left out by the documentation; in a spec all are needed"
    for parameter in drafted.parameters:
        if parameter not in documented.parameters:
            yield f"tool {name}: parameter {parameter} is in the draft but not documented"
    changes = bool(drafted.change or drafted.insert)
    if documented.writes is not None and documented.writes != changes:
        yield f"tool {name} {'changes nothing' if documented.writes else 'changes the state'} in the draft; the " \
              "documentation says otherwise"  # fmt: skip


def _optional(schema: dict[str, object]) -> str:
    return "" if schema.get("required") else " as optional"
