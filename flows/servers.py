"""Prefect's and MLflow's own servers, on 127.0.0.1, with sqlite files in the workspace."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit

from flows.repro import stop
from pipeline.errors import WorkspaceError
from pipeline.tracking import server_uri

HOST = "127.0.0.1"
READY = 300.0
"""Seconds a server may take to answer; the first start makes its tables."""

ADDRESSES = Path(".work/ui.json")
"""Where `make ui` says on which ports its servers answer."""


@dataclass(frozen=True)
class Server:
    """One running server."""

    name: str
    url: str
    health: str
    """Path that answers once the server is ready."""
    log: Path
    process: "subprocess.Popen[str]"


@contextmanager
def serving(root: Path, servers: Mapping[str, int]) -> Iterator[list[Server]]:
    """Run the named servers (`prefect`, `mlflow`) on their ports until the block ends; all of them answer inside it.

    Raises WorkspaceError when a port is taken or a server does not come up.
    """
    for name, port in servers.items():
        check_free(name, port)
    with ExitStack() as stack:
        started = []
        for name, port in servers.items():
            server = _prefect(root, port) if name == "prefect" else _mlflow(root, port)
            stack.callback(stop, server.process)
            started.append(server)
        for server in started:
            _wait(server)
        yield started


@contextmanager
def announced(root: Path, servers: Mapping[str, int]) -> Iterator[None]:
    """Leave the ports where a flow that starts meanwhile finds them."""
    (root / ADDRESSES).parent.mkdir(parents=True, exist_ok=True)
    (root / ADDRESSES).write_text(json.dumps(dict(servers)), encoding="utf-8")
    try:
        yield
    finally:
        (root / ADDRESSES).unlink(missing_ok=True)


def running_prefect(root: Path) -> str | None:
    """Address of the API of a Prefect server that `make ui` runs for this workspace, if it answers."""
    try:
        port = json.loads((root / ADDRESSES).read_text(encoding="utf-8"))["prefect"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    url = f"http://{HOST}:{port}"
    return f"{url}/api" if answers(f"{url}/api/health") else None


def answers(url: str) -> bool:
    """Whether a GET of `url` is answered well within two seconds."""
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError, http.client.HTTPException):
        return False


def check_listening(url: str) -> None:
    """Raises WorkspaceError when nobody listens at the host and port of `url`, an address given by the user."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), timeout=10).close()
    except (OSError, ValueError) as error:
        message = f"PREFECT_API_URL is {url}, where no server answers ({error}); start it, or unset the variable"
        raise WorkspaceError(message) from error


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def check_free(name: str, port: int) -> None:
    """Raises WorkspaceError when somebody listens on `port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            message = f"port {port} for {name} is taken; stop what listens there, or choose another: --{name}-port"
            raise WorkspaceError(message) from error


def _prefect(root: Path, port: int) -> Server:
    url = f"http://{HOST}:{port}"
    command = ["-m", "prefect", "server", "start", "--host", HOST, "--port", str(port)]
    # Without these the pages look for the API on port 4200, whatever --port says.
    api = {"PREFECT_API_URL": f"{url}/api", "PREFECT_UI_API_URL": f"{url}/api", "PREFECT_SERVER_API_PORT": str(port)}
    return _start(root, "prefect", command, api, url, "/api/health")


def _mlflow(root: Path, port: int) -> Server:
    command = ["-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", server_uri(root), "--artifacts-destination", str(root / "mlartifacts")]
    return _start(root, "mlflow", command, {}, f"http://{HOST}:{port}", "/health")


def _start(root: Path, name: str, command: list[str], extra: Mapping[str, str], url: str, health: str) -> Server:
    log = root / ".work" / f"{name}-server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    modules = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (modules, os.environ.get("PYTHONPATH"))))
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows.child", str(os.getpid()), sys.executable, *command],
            cwd=root,
            env=os.environ | {"PYTHONPATH": path} | dict(extra),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            text=True,
            start_new_session=True,
        )
    return Server(name, url, health, log, process)


def _wait(server: Server) -> None:
    until = time.monotonic() + READY
    while not answers(server.url + server.health):
        if server.process.poll() is not None:
            raise WorkspaceError(
                f"the {server.name} server ended at its start; {server.log} says why: {_end(server.log)}"
            )
        if time.monotonic() > until:
            raise WorkspaceError(f"the {server.name} server does not answer at {server.url}; see {server.log}")
        time.sleep(0.2)


def _end(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else "(nothing)"
