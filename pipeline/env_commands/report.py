"""What `env check` finds, as plain data."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pipeline.records import JsonObject

OFTEN = 0.5
"""Above this share of rejected tasks, or of tasks with one and the same answer, a template is worth a remark."""


@dataclass(frozen=True, slots=True)
class Answers:
    """How the right answers of a template's tasks are spread. Ids are left out of an answer: they differ anyway."""

    distinct: int
    always: str
    """The answer that is right most often."""
    earns: float
    """Its share: the outcome that always giving it would earn."""
    shared: float
    """Share of pairs of tasks with different states and the same answer."""


@dataclass(frozen=True, slots=True)
class HabitScore:
    """What one way to go wrong earns: mean outcome and mean process over `tasks` runs."""

    tasks: int
    outcome: float
    process: float


@dataclass(frozen=True, slots=True)
class TemplateReport:
    """What came of one template. `rejected` counts drawn tasks by reason, `proofs` faulty runs by kind."""

    name: str
    tasks: int
    rejected: dict[str, int]
    calls: tuple[int, float, int] | None
    """Calls of the golden run: least, mean, most."""
    answers: Answers | None
    habits: dict[str, HabitScore]
    proofs: dict[str, int]
    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What came of an environment."""

    name: str
    about: str
    templates: tuple[TemplateReport, ...]
    answers: Answers | None
    """Over the tasks of all templates."""
    unused: dict[str, list[str]]

    @property
    def faults(self) -> list[str]:
        """What keeps the environment from being used, one line each."""
        return list(dict.fromkeys(fault for template in self.templates for fault in template.faults))

    @property
    def remarks(self) -> list[str]:
        """What its author should look at."""
        return list(dict.fromkeys(remark for template in self.templates for remark in template.remarks))

    @property
    def habits(self) -> dict[str, HabitScore]:
        """Each habit over all templates, each run counting the same."""
        names = dict.fromkeys(name for template in self.templates for name in template.habits)
        return {name: _mean([each.habits[name] for each in self.templates if name in each.habits]) for name in names}

    def as_json(self) -> JsonObject:
        """The same as one JSON object."""
        habits = {name: asdict(score) for name, score in self.habits.items()}
        return asdict(self) | {"habits": habits, "faults": self.faults, "remarks": self.remarks}


def _mean(scores: Sequence[HabitScore]) -> HabitScore:
    tasks = sum(score.tasks for score in scores)
    return HabitScore(
        tasks, sum(score.outcome * score.tasks for score in scores) / tasks,
        sum(score.process * score.tasks for score in scores) / tasks,
    )  # fmt: skip
