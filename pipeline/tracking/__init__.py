"""MLflow tracking that neither kills nor slows training.

A stage writes a local record under `.work/tracking/`; a process beside it carries the record into MLflow while it grows
(`upload.py` says why). MLflow down, its database broken, a full disk: one line of warning, training goes on, and what
was recorded is uploaded by the next run that can, or by `sync_pending`.
"""

from pipeline.tracking.background import old_store_notice
from pipeline.tracking.lineage import locked_hashes
from pipeline.tracking.links import RunLink, Sync, find_run, sync_pending, ui_address
from pipeline.tracking.runs import PipelineRun, Run, pipeline_run, stage_run

__all__ = [
    "PipelineRun",
    "Run",
    "RunLink",
    "Sync",
    "find_run",
    "locked_hashes",
    "old_store_notice",
    "pipeline_run",
    "stage_run",
    "sync_pending",
    "ui_address",
]
