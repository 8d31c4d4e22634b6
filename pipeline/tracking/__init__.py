"""MLflow tracking that neither kills nor slows training.

A stage writes a local record under `.work/tracking/`; a process beside it carries the record into MLflow while it grows
(`upload.py` says why). MLflow down, its database broken, a full disk: one line of warning, training goes on, and what
was recorded is uploaded by the next run that can, or by `sync_pending`.
"""

from pipeline.tracking.background import old_store_notice
from pipeline.tracking.graph import read_stages
from pipeline.tracking.journal import server_uri, uses_local_store
from pipeline.tracking.lineage import locked_hashes
from pipeline.tracking.links import RunLink, Sync, find_run, sync_pending, ui_address
from pipeline.tracking.runs import PipelineRun, Run, pipeline_run, stage_run
from pipeline.tracking.values import numbers as flat_numbers

__all__ = [
    "PipelineRun",
    "Run",
    "RunLink",
    "Sync",
    "find_run",
    "flat_numbers",
    "locked_hashes",
    "old_store_notice",
    "pipeline_run",
    "read_stages",
    "server_uri",
    "stage_run",
    "sync_pending",
    "ui_address",
    "uses_local_store",
]
