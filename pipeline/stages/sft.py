"""Stage sft: teach tool syntax and the use of the harness by imitation, with early stopping on held-back rows."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pipeline
from pipeline.errors import EmptyOutputError
from pipeline.params import Params
from pipeline.records import SFT_ROWS
from pipeline.rollouts.harnesses import Harnesses
from pipeline.rows import messages_from_json
from pipeline.stages.common import WORK, Progress, stage_main
from pipeline.tables import loads, read_parquet, whole_file, write_json
from pipeline.tracking import Run
from pipeline.training.batches import steps
from pipeline.training.loading import load_model, load_tokenizer, save_model
from pipeline.training.run_folder import run_key
from pipeline.training.sft import SftResult, TokenRow, train_sft
from pipeline.training.watch import Look
from pipeline.training.words import Speller

ROWS, BASE, OUT = Path("data/sft.parquet"), Path("models/base"), Path("models/sft")
CODE = tuple(
    Path(pipeline.__file__).parent / "training" / name
    for name in ("sft.py", "batches.py", "watch.py", "muon.py", "words.py")
)
"""Code that a checkpoint hangs on."""


def body(params: Params, run: Run) -> None:
    """Write models/sft, metrics/sft.json and plots/sft.csv."""
    values = {"sft": params.sft.model_dump(), "seed": params.seed}
    work = own_folder(WORK / "sft", run_key(values, [ROWS, BASE, *CODE]))
    tokenizer = load_tokenizer(BASE)
    rows = encode_rows(Harnesses(tokenizer), Speller(tokenizer, params.seed))
    if not rows["train"]:
        raise EmptyOutputError(f"{ROWS}: holds no row of the part train; lower curate.valid_share")
    progress = Progress("sft", steps(len(rows["train"]), params.sft.batch_size, params.sft.epochs), seconds=0)

    def report(step: int, losses: dict[str, float]) -> None:
        progress(step, "  ".join(f"{name} {value:.3f}" for name, value in losses.items()))
        run.log_metrics(losses, step)

    model = load_model(BASE)
    result = train_sft(
        model, tokenizer, rows["train"], rows["valid"], params.sft, seed=params.seed, work=work, report=report
    )
    save_model(model, tokenizer, OUT)
    write_curve(Path("plots/sft.csv"), result.curve)
    write_json(Path("metrics/sft.json"), summarise(result, rows["train"], rows["valid"]))
    if result.unfinished:
        print("sft        its valid loss still fell at its last look: it may gain from more sft.epochs", flush=True)
    shutil.rmtree(work)


def own_folder(root: Path, key: str) -> Path:
    """`root/key`, where a killed run of the same inputs may have left checkpoints; those of other inputs go."""
    for other in root.glob("*"):
        if other.name != key:
            shutil.rmtree(other)
    return root / key


def encode_rows(harnesses: Harnesses, speller: Speller) -> dict[str, list[TokenRow]]:
    """Token rows by part, in the order of the table."""
    rows: dict[str, list[TokenRow]] = {"train": [], "valid": []}
    for row in read_parquet(ROWS, SFT_ROWS):
        ids, mask = harnesses.encode(messages_from_json(row["messages"]), loads(row["tools"]))
        rows[row["part"]].append(TokenRow(*(speller(ids, mask) if row["part"] == "train" else (ids, mask))))
    return rows


def write_curve(path: Path, curve: Sequence[Look]) -> None:
    """Step, train_loss and valid_loss of each look as CSV; empty where not measured."""
    with whole_file(path, "w") as stream:
        stream.write("step,train_loss,valid_loss\n")
        for look in curve:
            losses = ("" if loss is None else f"{loss:.6f}" for loss in (look.train_loss, look.valid_loss))
            stream.write(",".join([str(look.step), *losses]) + "\n")


def summarise(result: SftResult, rows: Sequence[TokenRow], valid_rows: Sequence[TokenRow]) -> dict[str, Any]:
    """What metrics/sft.json holds."""
    return {
        "best_step": result.best.step,
        "unfinished": result.unfinished,
        "steps": result.steps,
        "epochs": result.epochs,
        "valid_loss": result.best.valid_loss,
        "train_loss": result.best.train_loss,
        "rows": len(rows),
        "valid_rows": len(valid_rows),
        "tokens": sum(len(row.ids) for row in rows),
        "agent_tokens": sum(sum(row.mask) for row in rows),
        "trained_tokens": result.trained_tokens,
    }


if __name__ == "__main__":
    stage_main("sft", body)
