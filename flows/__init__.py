"""Prefect on top of DVC; without this folder `dvc repro` does the same.

Importing this package settles, before Prefect reads it, where Prefect keeps its things (in the workspace, not in the
user's home), that it calls nobody, and that its log goes to its pages: the terminal shows the stages' own lines, and an
error as one line. A value that is already set in the process's environment wins.
"""

import os
from pathlib import Path

for _name, _value in (
    ("PREFECT_HOME", str(Path(".prefect").resolve())),
    ("PREFECT_SERVER_ANALYTICS_ENABLED", "false"),
    ("DO_NOT_TRACK", "1"),
    ("PREFECT_CLI_PROMPT", "false"),
    ("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL"),
):
    os.environ.setdefault(_name, _value)
