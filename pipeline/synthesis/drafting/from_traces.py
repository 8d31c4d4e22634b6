"""From traces to a draft, without a model: what was seen, in the form of a spec, with marks where a person decides."""

import hashlib
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from pipeline.environments.recordings import Recording, read_recordings
from pipeline.errors import InputError, SpecError
from pipeline.synthesis.drafting.course import guess_course
from pipeline.synthesis.drafting.emit import tables_text, tools_text
from pipeline.synthesis.drafting.emit_work import work_text
from pipeline.synthesis.drafting.proving import Proof, prove
from pipeline.synthesis.drafting.rows import guess_tables
from pipeline.synthesis.drafting.seen import seen_tools
from pipeline.synthesis.drafting.sketch import make_sketch
from pipeline.synthesis.drafting.writing import comment, flow

OPEN = (
    "what each answer is made of: columns hold recorded answers for now",
    "what decides: a column says it for now, which no tool tells, so no agent can know",
    "what the deciding tools change, and when they are refused",
    "everything below that is marked OPEN",
)


def draft_from_traces(path: Path, name: str, about: str = "", chosen: Collection[str] = ()) -> tuple[str, str]:
    """The text of a draft, and what its check said. Raises InputError when there is nothing to draft from."""
    everything = list(read_recordings(path))
    harnesses = Counter(one.harness_hash for one in everything if one.calls)
    if not harnesses:
        raise InputError(f"{path}: no run calls a tool, so there is nothing to draft from")
    harness = harnesses.most_common(1)[0][0]
    recordings = [one for one in everything if one.harness_hash == harness]
    body, sections = _body(path.name, name, about, recordings, chosen)
    proof, fault = (None, "sections are missing") if sections else _proved(body, name)
    lines = [
        f"DRAFT, not reviewed, made of {len(recordings)} runs of {path.name} (sha256 {_hash(path)}) by counting.",
        *([f"{len(everything) - len(recordings)} runs with other tools than {harness} were left out."]
          if len(everything) > len(recordings) else []),
        *(["Checks that passed:", *(f"- {line}" for line in proof.passed)] if proof else []),
        *([f"It is no valid spec yet: {fault}"] if fault else []),
        "Still open:", *(f"- {line}" for line in (*(proof.remarks if proof else ()), *sections, *OPEN)),
    ]  # fmt: skip
    said = "; ".join(proof.passed) if proof else f"no valid spec yet: {fault}"
    return comment(lines) + body, said


def _body(
    source: str, name: str, about: str, recordings: list[Recording], chosen: Collection[str]
) -> tuple[str, list[str]]:
    """The spec without its head, and which sections it lacks."""
    tools = seen_tools(source, recordings, chosen)
    tables = guess_tables(tools)
    course = guess_course(recordings, tools, tables)
    whole = course is not None and bool(course.steps)
    sketch = make_sketch(tools, tables, course if whole else None)
    head = f"name: {name}\nabout: {flow(about or 'OPEN')}\n"
    parts = [head, tables_text(sketch) if tables else "", tools_text(sketch)]
    if course is not None and whole:
        return "\n".join(filter(None, [*parts, work_text(sketch, course, recordings)])), []
    missing = "no call that could end the work names a row" if course is None else "nothing was read before a decision"
    lacking = [] if tables else ["missing: tables, since no argument names a row"]
    return "\n".join(filter(None, parts)), [*lacking, f"missing: procedure, cases, templates and ask, since {missing}"]


def _proved(body: str, name: str) -> tuple[Proof | None, str]:
    try:
        return prove(body, name), ""
    except SpecError as fault:
        return None, str(fault)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
