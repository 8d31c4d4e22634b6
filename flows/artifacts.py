"""What a task leaves in Prefect: a link to the stage's MLflow run and a table of its metrics."""

import re
from pathlib import Path

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from pipeline.errors import InputError
from pipeline.tables import read_json
from pipeline.tracking import find_run, flat_numbers, locked_hashes, read_stages


def show_stage(root: Path, stage: str, ran: bool) -> None:
    """Leave both artifacts with the task at hand; a run that MLflow does not know yet is named by its hash."""
    made_by = locked_hashes(root).get(stage)
    if made_by is None:
        return
    link = find_run(root, made_by)
    where = f"[MLflow run of `{stage}`]({link.url})" if link else f"not in MLflow yet; its stage_hash is `{made_by}`"
    how = "ran now" if ran else "was up to date or restored from DVC's cache; this run made its outs"
    key = _key(stage)
    create_markdown_artifact(f"{where}\n\nThe stage {how}.", key=f"mlflow-{key}", description=f"MLflow run of {stage}")
    rows = _metrics(root, stage)
    if rows:
        create_table_artifact(rows, key=f"metrics-{key}", description=f"Metrics of {stage}")


def _metrics(root: Path, stage: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for path in read_stages(root)[stage].metrics:
        try:
            values = flat_numbers(read_json(root / path))
        except InputError:
            continue  # the stage's own outs are DVC's to check; a table is only a view of them
        rows += [{"metric": name, "value": value} for name, value in values.items()]
    return rows


def _key(stage: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", stage.lower()).strip("-")
