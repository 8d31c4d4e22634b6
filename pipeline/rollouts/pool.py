"""Many rollouts in fixed chunks: the unit of batching, seeding and resuming.

A chunk is `params.chunk` consecutive tries, with a seed of its own derived from the run's seed and its number. A
finished chunk is a file under `work/<key>`, where the key hashes all that the rollouts depend on, code included; a run
that was killed reads these and plays the rest. Files of other keys are removed.
"""

import hashlib
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from pipeline.errors import InputError
from pipeline.graders.panel import NOBODY, Panel
from pipeline.graders.reward import outcome
from pipeline.params import RolloutParams
from pipeline.records import ROLLOUTS, SCHEMA_VERSION, Rollout, Task
from pipeline.rollouts.engine import Engine
from pipeline.rollouts.episodes import play
from pipeline.rollouts.grading import grade_together
from pipeline.rollouts.places import Places
from pipeline.rows import rollout_from_row, rollout_to_row, task_to_row
from pipeline.tables import dumps, read_parquet, write_parquet

CODE = ("environments", "graders", "remote", "rollouts", "own_graders", "condition.py", "records.py", "rows.py")
"""What a rollout's bytes depend on, in the package `pipeline`."""

Tries = list[tuple[Task, int]]
OnProgress = Callable[[int, str], None]
"""`on_progress(done, note)`: how many rollouts are done, and the mean outcome so far."""


def play_chunks(
    engine: Engine,
    places: Places,
    tasks: Sequence[Task],
    tries: int,
    params: RolloutParams,
    *,
    model: str,
    seed: int,
    work: Path,
    on_progress: OnProgress,
    panel: Panel = NOBODY,
) -> list[Rollout]:
    """Play `tries` rollouts of each task and have them graded; rollouts in the order of tasks, then tries.

    Finished chunks lie under `work`. Raises InputError when there is no task.
    """
    if not tasks:
        raise InputError("there are no tasks to play; run the stage that writes them with more tasks")
    all_tries = [(task, n) for task in tasks for n in range(tries)]
    chunks = [all_tries[start : start + params.chunk] for start in range(0, len(all_tries), params.chunk)]
    folder = work / chunks_key(engine, places, all_tries, params, model, seed, panel)
    _prune(work, folder.name)
    done: list[Rollout] = []
    for number, chunk in enumerate(chunks):
        path = folder / f"chunk-{number:05d}.parquet"
        rollouts = _finished(path)
        if rollouts is None:
            rollouts = play(engine, places, chunk, params, model=model, seed=chunk_seed(seed, number), panel=panel)
            write_parquet(path, map(rollout_to_row, rollouts), ROLLOUTS)
        done += rollouts
        on_progress(len(done), f"mean outcome {mean_outcome(done)}")
    return grade_together(done, tasks, places, panel)


def chunk_seed(seed: int, number: int) -> int:
    """63 bits that belong to the chunk."""
    digest = hashlib.sha256(f"chunk {seed} {number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def chunks_key(
    engine: Engine, places: Places, tries: Tries, params: RolloutParams, model: str, seed: int, panel: Panel = NOBODY
) -> str:
    """16 hex digits of all that the rollouts depend on: weights, harnesses, tasks, params, seed, graders, code."""
    rows = [[task_to_row(task), n] for task, n in tries]
    shown = [
        [name, place.world.fingerprint, place.harness.hash, place.harness.prompt_ids("")]
        for name, place in places.by_name.items()
    ]
    parts = [
        engine.fingerprint, shown, rows, params.model_dump(mode="json"), model, seed,
        SCHEMA_VERSION, panel.fingerprint, code_hash(),
    ]  # fmt: skip
    return hashlib.sha256(dumps(parts).encode()).hexdigest()[:16]


def code_hash() -> str:
    """Hash of the source files that make a rollout."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(_sources(package / name for name in CODE)):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def mean_outcome(rollouts: Sequence[Rollout]) -> str:
    """Mean of the outcomes that are not null, three digits, for progress lines."""
    known = [value for value in (outcome(rollout.grades) for rollout in rollouts) if value is not None]
    return f"{sum(known) / len(known):.3f}" if known else "unknown"


def _sources(roots: Iterable[Path]) -> Iterator[Path]:
    for root in roots:
        yield from root.rglob("*.py") if root.is_dir() else [root]


def _finished(path: Path) -> list[Rollout] | None:
    return [rollout_from_row(row) for row in read_parquet(path, ROLLOUTS)] if path.exists() else None


def _prune(work: Path, keep: str) -> None:
    for folder in work.iterdir() if work.is_dir() else ():
        if folder.name != keep and re.fullmatch("[0-9a-f]{16}", folder.name):
            shutil.rmtree(folder)
