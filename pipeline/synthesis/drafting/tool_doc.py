"""One documented tool, whatever it was documented in."""

from dataclasses import dataclass, field

import orjson

from pipeline.records import JsonObject


@dataclass(frozen=True, slots=True)
class ToolDoc:
    """One tool as documented, under names that a spec may use. `writes` None means that nothing is said about it."""

    name: str
    about: str
    parameters: dict[str, JsonObject] = field(default_factory=dict)
    """Shortened schemas by name; key `required` is true or false."""
    answer: JsonObject = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    writes: bool | None = None

    def line(self) -> str:
        """JSON on one line, what is empty left out."""
        said: JsonObject = {
            "tool": self.name, "about": self.about, "parameters": self.parameters, "answer": self.answer,
            "errors": list(self.errors), "changes_something": self.writes,
        }  # fmt: skip
        return orjson.dumps({key: value for key, value in said.items() if value not in ("", {}, [], None)}).decode()
