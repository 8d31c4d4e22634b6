"""`python -m flows.ui`: Prefect's and MLflow's pages for this workspace, until Ctrl-C.

Ports: --prefect-port and --mlflow-port, or REHEARSAL_PREFECT_PORT and REHEARSAL_MLFLOW_PORT, else 4200 and 5000.
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from flows.servers import Server, announced, serving
from pipeline.errors import RehearsalError, WorkspaceError
from pipeline.tracking import old_store_notice, ui_address, uses_local_store

LOOK = 0.5
"""Seconds between two looks whether both servers still run."""


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit code."""
    options = _parser().parse_args(arguments)
    # A process started with `&` in a script is born with SIGINT ignored; this one is meant to be stopped by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _serve(Path(), {"prefect": options.prefect_port, "mlflow": options.mlflow_port})
    except RehearsalError as error:
        print(f"ui: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped", flush=True)
    return 0


def _serve(root: Path, ports: dict[str, int]) -> None:
    notice = old_store_notice(root)
    if notice:
        print(notice, flush=True)
    if not uses_local_store():
        del ports["mlflow"]
    print("starting " + " and ".join(ports) + " ...", flush=True)
    with serving(root, ports) as servers, announced(root, ports):
        for server in servers:
            print(f"{server.name:<8} {server.url}", flush=True)
        if "mlflow" not in ports:
            print(f"{'mlflow':<8} {ui_address()} (MLFLOW_TRACKING_URI; not started here)", flush=True)
        print("Ctrl-C stops both" if len(ports) > 1 else "Ctrl-C stops it", flush=True)
        _watch(servers)


def _watch(servers: list[Server]) -> None:
    while True:
        time.sleep(LOOK)
        for server in servers:
            if server.process.poll() is not None:
                raise WorkspaceError(f"the {server.name} server ended by itself; see {server.log}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m flows.ui", description="Pages of Prefect and MLflow on 127.0.0.1.")
    for name, port in (("prefect", 4200), ("mlflow", 5000)):
        default = os.environ.get(f"REHEARSAL_{name.upper()}_PORT") or port
        parser.add_argument(f"--{name}-port", type=int, default=default, help=f"default {port}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
