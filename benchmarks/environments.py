"""Does practice in one world help in another? Trained on one or on all, tested on each and on the suite outside.

All arms start from the same base model, whose tokenizer knows the text of every shipped world, and get equally many
traces, demonstrations, tasks and steps: an arm of one world has all of them from there, the arm of all a third from
each. Each arm goes through curate, sft, profile, filter and rl as the pipeline does; then its SFT and its RL model are
scored on the eval tasks of every world and on the suite outside. Finished arms are kept: a second call goes on.

Run it from the project's folder: `python -m benchmarks.environments FOLDER [--seed 1]`. It prints a table in Markdown
and leaves FOLDER/matrix.json. About 90 minutes on one core.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
from ruamel.yaml import YAML

from pipeline.tables import read_json, write_json

ROOT = Path(__file__).resolve().parent.parent
WORLDS = ("claims", "orders", "archive")
ARMS: dict[str, tuple[str, ...]] = {**{world: (world,) for world in WORLDS}, "all": WORLDS}
MODELS = ("sft", "rl")
STAGES = ("curate", "sft", "profile", "filter", "rl")
LONGER = {"max_turns": 34, "max_context": 900}
"""The archive's longest way has 33 calls."""
STEPS, EVERY = 16, 5
"""Generation steps of RL and of each round of its horizon: about half of the preset's, so that all arms fit."""
EPOCHS = 6
"""Epochs of SFT, twice the preset's: held-out wordings take longer to be read than seen ones."""
TRIES = 4
"""Tries of each eval task."""


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--preset", default="tiny", help="preset that the values come from")
    options = parser.parse_args()
    shared = options.folder.resolve() / "shared"
    prepare(shared, options.seed, options.preset)
    scores = {arm: run_arm(options.folder.resolve() / arm, shared, worlds) for arm, worlds in ARMS.items()}
    write_json(options.folder / "matrix.json", scores)
    print(table(scores))


def prepare(folder: Path, seed: int, preset: str) -> None:
    """Traces, tasks and the base model that all arms share."""
    if (folder / "models" / "base").is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "dvc.yaml", folder)
    shutil.copy(ROOT / "params.yaml", folder)
    stage(folder, "pipeline", "preset", preset)
    set_params(folder / "params.yaml", seed)
    for name in ("demo", "ingest", "synthesize", "base"):
        stage(folder, f"pipeline.stages.{name}")


def set_params(path: Path, seed: int) -> None:
    """All worlds, and as much of each as a run of one world has."""
    yaml = YAML()
    params = yaml.load(path.read_text(encoding="utf-8"))
    params["seed"] = seed
    params["environments"]["names"] = list(WORLDS)
    for section, key in (("demo", "groups"), ("synthesize", "train"), ("synthesize", "valid"), ("synthesize", "demos")):
        params[section][key] *= len(WORLDS)
    params["rollouts"].update(LONGER)
    params["sft"]["epochs"] = EPOCHS
    params["rl"]["steps"], params["rl"]["horizon"]["every"] = STEPS, EVERY
    params["rl"]["horizon"]["rounds"][-1] = LONGER["max_turns"]
    params["evaluate"]["tries"] = TRIES
    with path.open("w", encoding="utf-8") as stream:
        yaml.dump(params, stream)


def run_arm(folder: Path, shared: Path, worlds: tuple[str, ...]) -> dict[str, Any]:
    """Train one arm and score it; what `matrix.json` says of it."""
    done = folder / "scores.json"
    if not done.exists():
        start = time.monotonic()
        if not folder.is_dir():
            shutil.copytree(shared, folder)
            narrow(folder, worlds)
        for name in STAGES:
            stage(folder, f"pipeline.stages.{name}")
        for model in MODELS:
            stage(folder, "pipeline.stages.evaluate", model)
        write_json(done, score(folder) | {"minutes": round((time.monotonic() - start) / 60, 1)})
    return dict(read_json(done))


def narrow(folder: Path, worlds: tuple[str, ...]) -> None:
    """Leave of traces, demonstrations, train and valid tasks what belongs to `worlds`: a third of all, either way."""
    names: dict[str, str] = {}
    for split in ("train", "valid"):
        path = folder / "data" / "tasks" / f"{split}.parquet"
        tasks = pl.read_parquet(path)
        names |= dict(zip(tasks["task_id"], tasks["environment"], strict=True))
        kept = tasks.filter(pl.col("environment").is_in(worlds)).head(tasks.height // len(WORLDS))
        rewrite(path, kept)
    demos = pl.read_parquet(folder / "data" / "demos.parquet")
    tools = {harness: names[task_id] for task_id, harness in demos.select("task_id", "harness_hash").iter_rows()}
    for path in (folder / "data" / "demos.parquet", folder / "data" / "traces" / "traces.parquet"):
        rows = pl.read_parquet(path)
        of = rows.with_columns(world=pl.col("harness_hash").replace_strict(tools, default=None))
        mine = of.filter(pl.col("world").is_in(worlds))
        share = mine.height if len(worlds) == 1 else -(-mine.height // len(WORLDS))
        rewrite(path, by_turns(mine, share).drop("world"))


def by_turns(rows: pl.DataFrame, count: int) -> pl.DataFrame:
    """The first `count` rows, worlds by turns, each in its own order."""
    numbered = rows.with_columns(turn=pl.int_range(pl.len()).over("world"))
    return numbered.sort("turn", maintain_order=True).drop("turn").head(count)


def rewrite(path: Path, rows: pl.DataFrame) -> None:
    """Put `rows` in the place of a table, with the table's own schema and metadata."""
    schema = pq.read_schema(path)
    pq.write_table(rows.to_arrow().cast(schema), path)


def score(folder: Path) -> dict[str, Any]:
    """pass@1 by world and outside, of each model."""
    found: dict[str, Any] = {}
    for model in MODELS:
        evaluated = read_json(folder / "metrics" / "eval" / f"{model}-eval.json")
        outside = read_json(folder / "metrics" / "eval" / f"{model}-outside.json")
        found[model] = {world: evaluated["by_environment"][world] for world in WORLDS} | {"outside": outside}
    return found


def stage(folder: Path, module: str, *arguments: str) -> None:
    """Run a module of ours in `folder`; its lines go to FOLDER/log.txt."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with (folder / "log.txt").open("a", encoding="utf-8") as log:
        print(f"{folder.name}: {module} {' '.join(arguments)}", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", module, *arguments]
        subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=log, check=True)


def table(scores: dict[str, Any]) -> str:
    """The matrix in Markdown: rows are what was trained on, columns what was tested on."""
    columns = (*WORLDS, "outside")
    lines = ["| trained on | " + " | ".join(columns) + " |", "| --- |" + " --- |" * len(columns)]
    for arm, found in scores.items():
        cells = [" → ".join(f"{found[model][column]['pass_at_1']:.2f}" for model in MODELS) for column in columns]
        lines.append(f"| {arm} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
