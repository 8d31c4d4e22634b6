"""Stage base: the model to start from, with tokenizer and chat template.

A tiny model's tokenizer learns from the demonstrations as its own chat template renders them, tools included; train
tasks made of traces alone count as demonstrations of one turn. Whatever the model, these are encoded with it before the
stage ends: a template that cannot carry tool calls or mark the agent's tokens fails here, not an hour later. The valid
questions are only looked through for words that no demonstration has.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import mean
from typing import Any

from transformers import AutoConfig

from pipeline.environments.pivot_task import pivot_demo
from pipeline.errors import InputError
from pipeline.params import PIVOT, Params
from pipeline.records import DEMOS, TASKS, Demo
from pipeline.rollouts.harnesses import Harnesses
from pipeline.rows import demo_from_row, task_from_row
from pipeline.stages.common import Progress, stage_main
from pipeline.tables import read_parquet, write_json
from pipeline.tracking import Run
from pipeline.training.base import TINY, make_base
from pipeline.training.loading import load_model, load_tokenizer
from pipeline.training.tiny import build_tokenizer
from pipeline.training.words import words_of

DEMO_FILE, VALID_FILE = Path("data/demos.parquet"), Path("data/tasks/valid.parquet")
TRAIN_FILE = Path("data/tasks/train.parquet")
OUT = Path("models/base")
MEASURED = 256
"""Demonstrations encoded to say what an episode costs."""


def body(params: Params, run: Run) -> None:
    """Write models/base and metrics/base.json."""
    demos = [demo_from_row(row) for row in read_parquet(DEMO_FILE, DEMOS)]
    if params.synthesize.pivots.enabled:
        tasks = map(task_from_row, read_parquet(TRAIN_FILE, TASKS))
        demos += [pivot_demo(task) for task in tasks if task.environment == PIVOT]
    if not demos:
        raise InputError(f"{DEMO_FILE}: holds no demonstration, which `base` needs; raise synthesize.demos")
    kinds = by_harness(demos)
    texts = evened(kinds) if params.base.model == TINY else iter(())
    share, words = unseen(demos, [row["question"] for row in read_parquet(VALID_FILE, TASKS)])
    came_from = make_base(params.base, params.seed, texts, OUT, len(kinds), spells=share > 0)
    metrics = {**describe(OUT, demos[:MEASURED]), "unseen_valid": round(share, 4)}
    write_json(Path("metrics/base.json"), {"model": came_from, **metrics})
    run.log_metrics({name: float(value) for name, value in metrics.items()})
    print(
        f"base       {came_from}: {metrics['parameters']:,} parameters, {metrics['vocab_size']} tokens; "
        f"an episode costs {metrics['episode_tokens']:.0f} tokens, {metrics['agent_tokens']:.0f} of them the agent's",
        flush=True,
    )
    if share and came_from == TINY:
        print(
            f"base       {share:.0%} of the valid questions hold words that no demonstration's question has (such as "
            f"{', '.join(words[:4])}); a model that starts from nothing has to do without them: train it longer "
            "(sft.epochs), or give `ask` more phrases for train, of which `held_out` uses the words otherwise",
            flush=True,
        )


def unseen(demos: Iterable[Demo], questions: Sequence[str]) -> tuple[float, list[str]]:
    """Share of the questions that hold words which no demonstration's user says, and these words, in order."""
    known = words_of(message.content or "" for demo in demos for message in demo.messages if message.role == "user")
    new = [words_of([question]) - known for question in questions]
    return sum(map(bool, new)) / max(len(new), 1), sorted({word for words in new for word in words})


def by_harness(demos: Sequence[Demo]) -> list[list[Demo]]:
    """The demonstrations by the tools they use, which stand for their environment; in the order of first appearance."""
    kinds: dict[str, list[Demo]] = {}
    for demo in demos:
        kinds.setdefault(demo.harness_hash, []).append(demo)
    return list(kinds.values())


def evened(kinds: Sequence[Sequence[Demo]]) -> Iterator[str]:
    """The demonstrations as the tiny model's chat template renders them, those of rarer kinds over and over again.

    So the fixed text of an environment with few demonstrations becomes tokens, too.
    """
    most = max(map(len, kinds))
    harnesses = Harnesses(build_tokenizer((), 512))
    progress = Progress("base", most * len(kinds))
    done = 0
    for kind in kinds:
        for demo in islice(cycle(kind), most):
            yield harnesses.of(demo.tools).render(demo.messages)
            done += 1
            progress(done, "rendering demonstrations")


def describe(model_dir: Path, demos: Sequence[Demo]) -> dict[str, Any]:
    """Sizes of the model, and tokens that an episode costs. Raises ModelError or MaskError when it does not fit."""
    tokenizer = load_tokenizer(model_dir)
    harnesses = Harnesses(tokenizer)
    encoded = [harnesses.encode(demo.messages, demo.tools) for demo in demos]
    return {
        "parameters": load_model(model_dir).num_parameters(),
        "vocab_size": AutoConfig.from_pretrained(model_dir, local_files_only=True).vocab_size,
        "episode_tokens": round(mean(len(ids) for ids, _ in encoded), 2),
        "episode_tokens_max": max(len(ids) for ids, _ in encoded),
        "agent_tokens": round(mean(sum(mask) for _, mask in encoded), 2),
    }


if __name__ == "__main__":
    stage_main("base", body)
