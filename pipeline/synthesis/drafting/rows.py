"""Tables guessed from arguments that name rows, and how answers refer from one row to others."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.synthesis.drafting.naming import fitting_name, table_name
from pipeline.synthesis.drafting.seen import CHOSEN, SeenParameter, SeenTool

_ID = re.compile(r"([A-Z]{1,6})-([0-9]{3,9})")
"""The form of ids in a spec."""
_USUAL = 0.9
"""Share of answers that must agree for a reference to be concluded."""


@dataclass(slots=True)
class SeenTable:
    """A guessed table; `exact` says that the recorded ids have the form that the spec's ids will have."""

    name: str
    row: str
    prefix: str
    digits: int
    exact: bool
    ids: dict[str, None] = field(default_factory=dict)
    """Every id that an argument named, in order."""
    refs: dict[str, str] = field(default_factory=dict)
    """Column to table: each row names one of the other."""
    lists: dict[str, str] = field(default_factory=dict)
    """Column to table: each row names several of the other."""
    most: dict[str, int] = field(default_factory=dict)
    """Column of `lists` to how many one answer named at most."""

    def find(self, text: str) -> list[str]:
        """Ids of this table in a text, in order."""
        if self.exact:
            return re.findall(rf"\b{self.prefix}-[0-9]{{3,9}}\b", text)
        found = [(text.find(one), one) for one in self.ids if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text)]
        return [one for _, one in sorted(found)]


def guess_tables(tools: dict[str, SeenTool]) -> dict[str, SeenTable]:
    """Tables by name; marks the parameters that name their rows, and finds references in answers."""
    tables: dict[str, SeenTable] = {}
    for tool in tools.values():
        for parameter in tool.parameters.values():
            if _names_rows(parameter):
                table = _table(parameter, tables)
                table.ids |= dict.fromkeys(str(value) for value in parameter.values)
                parameter.table, parameter.enum = table.name, None
                parameter.notes = [note for note in parameter.notes if note != CHOSEN]
    for tool in tools.values():
        if tool.key is not None:
            _refer(tool, tool.key, tables)
    return tables


def _names_rows(parameter: SeenParameter) -> bool:
    texts = [value for value in parameter.values if isinstance(value, str) and value]
    if parameter.type != "string" or not texts or len(texts) < len(parameter.values):
        return False
    if all(_ID.fullmatch(text) for text in texts):
        return True
    return parameter.name.endswith("_id") and all(len(text) <= 80 and len(text.split()) == 1 for text in texts)


def _table(parameter: SeenParameter, tables: dict[str, SeenTable]) -> SeenTable:
    """The table with the same prefix or the same row, or a new one."""
    prefixes = Counter(found.group(1) for value in parameter.values if (found := _ID.fullmatch(str(value))))
    exact = len(prefixes) == 1 and sum(prefixes.values()) == len(parameter.values)
    row = fitting_name(parameter.name.removesuffix("_id"))
    for table in tables.values():
        if (exact and table.exact and table.prefix in prefixes) or table.row == row:
            return table
    prefix = next(iter(prefixes)) if exact else _free_prefix(row, {table.prefix for table in tables.values()})
    lengths = Counter(len(str(value).rpartition("-")[2]) for value in parameter.values)
    digits = lengths.most_common(1)[0][0] if exact else 4
    made = SeenTable(fitting_name(table_name(row)), row, prefix, digits, exact)
    tables[made.name] = made
    return made


def _free_prefix(row: str, taken: Iterable[str]) -> str:
    letters = "".join(each for each in row.upper() if "A" <= each <= "Z") or "X"
    ways = [letters[:length] for length in range(1, 7)] + [f"{letters[:5]}{chr(65 + number)}" for number in range(26)]
    return next(way for way in ways if way not in taken)


def _refer(tool: SeenTool, key: SeenParameter, tables: dict[str, SeenTable]) -> None:
    """Conclude from the answers of a tool about one row which other rows it names."""
    assert key.table is not None
    own = tables[key.table]
    answers = [call.answer for call in tool.calls if call.answer]
    for other in tables.values():
        if other is own or other.name in (*own.refs.values(), *own.lists.values()) or reaches(other, own, tables):
            continue
        counts = [len(set(other.find(answer))) for answer in answers]
        named = sum(count > 0 for count in counts)
        if not counts or named < _USUAL * len(counts):
            continue
        if sum(count == 1 for count in counts) >= _USUAL * len(counts):
            own.refs[other.row] = other.name
        else:
            own.lists[other.name] = other.name
            own.most[other.name] = max(counts)


def reaches(start: SeenTable, goal: SeenTable, tables: dict[str, SeenTable]) -> bool:
    """Whether references lead from one table to another: a further one back would close a circle."""
    queue, seen = [start], {start.name}
    for table in queue:
        if table is goal:
            return True
        for name in (*table.refs.values(), *table.lists.values()):
            if name not in seen:
                seen.add(name)
                queue.append(tables[name])
    return False
