"""Tasks: state, question, golden calls, and the golden state that running them reaches.

Each task draws from its own seed, so task i of a split is the same whatever else is made and by however many workers.
"""

import hashlib
import random
from collections.abc import Iterator

from pipeline.environments.declared.compiled import Compiled, CompiledTemplate
from pipeline.environments.declared.expressions import ExpressionFault
from pipeline.environments.declared.judging import MAX_CALLS, Call, evaluate, judge
from pipeline.environments.declared.scope import Scope
from pipeline.environments.declared.walking import WALK
from pipeline.environments.worlds import World
from pipeline.errors import SpecError
from pipeline.records import Split, Task
from pipeline.synthesis.drawing import Drawing
from pipeline.synthesis.golden import Rejected, compiled_of, is_declared, play_golden, proved
from pipeline.synthesis.questions import Noise, ask
from pipeline.synthesis.walks import walk_from
from pipeline.tables import dumps

__all__ = [
    "QUIET", "Rejected", "compiled_of", "is_declared", "make_task", "play_golden", "task_from", "template_names",
    "unique_tasks",
]  # fmt: skip

QUIET = Noise()


def make_task(world: World, seed: int, split: Split, index: int, noise: Noise = QUIET) -> Task | Rejected:
    """Task number `index` of a split; its templates take turns, and walks have their share."""
    rng = random.Random(f"task-{world.name}-{seed}-{split}-{index}")
    compiled = compiled_of(world)
    if compiled.walks is not None and rng.random() < compiled.walks.spec.share:
        return walk_from(world, rng, split, seed)
    templates = templates_of(compiled, split)
    return task_from(world, rng, templates[index % len(templates)].name, split, seed, noise)


def templates_of(compiled: Compiled, split: Split) -> list[CompiledTemplate]:
    """Templates that a split asks; those unseen in training are left to eval."""
    return [template for template in compiled.templates.values() if split == "eval" or not template.unseen]


def template_names(compiled: Compiled) -> list[str]:
    """Templates that tasks can be drawn of, walks among them where the spec has some."""
    return [*compiled.templates, *([WALK] if compiled.walks is not None else [])]


def task_from(
    world: World, rng: random.Random, template: str, split: Split, seed: int, noise: Noise = QUIET
) -> Task | Rejected:
    """Draw one task of `template`; its golden run is executed and must earn outcome 1 and process 1."""
    compiled = compiled_of(world)
    if template == WALK and compiled.walks is not None:
        return walk_from(world, rng, split, seed)
    drawing = Drawing(compiled, compiled.templates[template], split, rng)
    root = drawing.root()
    opening, subjects = _opening(drawing, root)
    for _ in range(compiled.spec.bystanders):
        drawing.root()
    settled = [_settle(drawing, subject) for subject in subjects]
    calls = (*opening, *(call for golden in settled for call in golden))
    if len(calls) > MAX_CALLS:
        raise SpecError(f"{compiled.spec.name}: template {template}: a golden run of {len(calls)} calls; shorten it")
    question, knobs = ask(rng, drawing.template, split, _askable(drawing, root, subjects), compiled.spec, noise)
    if _gives_away(drawing, question, [golden[-1] for golden in settled]):
        return Rejected.ANSWER_IN_QUESTION
    knobs = drawing.knobs | knobs | {
        "cases": [drawing.cases[subject] for subject in subjects], "calls": len(calls), "opening": len(opening),
    }  # fmt: skip
    golden_calls = tuple({"name": call.tool, "arguments": call.arguments} for call in calls)
    identity = hashlib.sha256(dumps([world.name, template, question, drawing.tables]).encode()).hexdigest()[:16]
    draft = Task(identity, world.name, template, split, seed, question, drawing.tables, {}, golden_calls, knobs)
    return proved(world, draft)


def unique_tasks(world: World, seed: int, split: Split, count: int, noise: Noise = QUIET) -> Iterator[Task]:
    """The first `count` tasks of a split that differ and are worth doing."""
    seen: set[str] = set()
    index = 0
    while len(seen) < count:
        drawn = make_task(world, seed, split, index, noise)
        index += 1
        if isinstance(drawn, Task) and drawn.task_id not in seen:
            seen.add(drawn.task_id)
            yield drawn


def _opening(drawing: Drawing, root: str) -> tuple[list[Call], list[str]]:
    compiled = drawing.compiled
    table = compiled.tables[drawing.template.root]
    scope = compiled.scope(drawing.tables, table.layout, {table.spec.row: root}, drawing.knobs)
    try:
        calls = [Call(tool, evaluate(arguments, scope)) for tool, arguments in drawing.template.opening]
        subjects = list(drawing.template.subjects(scope))
    except ExpressionFault as fault:
        raise SpecError(f"{compiled.spec.name}: template {drawing.template.name}: {fault}") from fault
    strangers = [subject for subject in subjects if subject not in drawing.cases]
    if strangers or not subjects:
        found = f"{strangers[0]!r} is none" if strangers else "there are none"
        raise SpecError(
            f"{compiled.spec.name}: template {drawing.template.name}: `subjects` must give ids of rows of "
            f"{compiled.subject} that are created by themselves or by a `rows` column; {found}"
        )
    return calls, list(dict.fromkeys(subjects))


def _settle(drawing: Drawing, subject: str) -> list[Call]:
    """The golden calls about one subject; the rule that its case promises must be the one that decides."""
    verdict = judge(drawing.compiled, drawing.tables, subject)
    case = drawing.cases[subject]
    wanted = drawing.compiled.cases[case][0]
    if verdict.rule != wanted:
        raise SpecError(
            f"{drawing.compiled.spec.name}: case {case} promises rule {wanted}, but {verdict.rule} decides about "
            f"{subject}; draw otherwise what that rule looks at"
        )
    return [*verdict.checks, verdict.decision]


def _askable(drawing: Drawing, root: str, subjects: list[str]) -> Scope:
    """What a question may name: columns of the root, of the first subject, and knobs."""
    compiled = drawing.compiled
    subject, table = compiled.tables[compiled.subject], compiled.tables[drawing.template.root]
    rows = {table.spec.row: root} | ({subject.spec.row: subjects[0]} if subjects else {})
    return compiled.scope(drawing.tables, table.layout | subject.layout, rows, drawing.knobs)


def _gives_away(drawing: Drawing, question: str, decisions: list[Call]) -> bool:
    """Whether the question holds a value that a decision needs and that is no id of the state."""
    ids = {key for rows in drawing.tables.values() for key in rows}
    words = set(question.replace(".", " ").replace(",", " ").replace("?", " ").split())
    values = {str(value) for call in decisions for value in call.arguments.values()}
    return any(value in words for value in values - ids if len(value) > 2)
