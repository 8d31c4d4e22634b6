"""Is this environment the locked one, and do its parts work together? Each fault is one line that names the fix.

torchvision, torchaudio and torchcodec are not in the lock: builds that do not fit torch (another CUDA build, another
version) break `import transformers` with a message that names neither. They come along with vLLM or with a careless
`pip install`, so this check looks at them by name.
"""

import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

from packaging.requirements import Requirement

LOCK = Path("requirements.lock")
COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
TOGETHER = "from trl import GRPOTrainer, SFTTrainer; import torch, transformers, prefect, mlflow, dvc.api"


def diagnose(lock: Path = LOCK, *, imports: bool = True) -> list[str]:
    """All faults found, best first; empty when the environment is sound. `imports` also tries the heavy imports."""
    faults = [*check_tools(), *check_lock(lock), *check_companions()]
    if imports and not faults:
        faults += check_imports()
    return faults


def check_tools() -> list[str]:
    """Programs needed beside Python."""
    return [] if shutil.which("git") else ["git is not on PATH; install it: DVC and the lineage of runs need it"]


def check_lock(lock: Path = LOCK) -> list[str]:
    """Packages of `lock` that are absent or have another version; local parts such as `+cpu` do not count."""
    if not lock.is_file():
        return [f"{lock}: no such file; run in the project's folder"]
    wrong = []
    for name, version in _pins(lock):
        found = _installed(name)
        if found != version:
            wrong.append(f"{name} is {found or 'not installed'}, the lock says {version}")
    if not wrong:
        return []
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return [f"{lock}: {wrong[0]}{more}; run `{sys.executable} -m pip install --no-deps -r {lock}`"]


def check_companions() -> list[str]:
    """Companions of torch that are installed and cannot be imported beside it."""
    present = [name for name in COMPANIONS if importlib.util.find_spec(name) is not None]
    broken = [name for name in present if _import_error(f"import torch, {name}") is not None]
    if not broken:
        return []
    names = " ".join(broken)
    return [f"{names} cannot be imported beside this torch; run `{sys.executable} -m pip uninstall --yes {names}`"]


def check_imports() -> list[str]:
    """Whether the big libraries import together, in a fresh interpreter."""
    error = _import_error(TOGETHER)
    if error is None:
        return []
    return [f"the libraries do not import together: {error}; remove .venv and run `make demo` again"]


def _pins(lock: Path) -> list[tuple[str, str]]:
    """Name and version of each line that holds for this Python and system."""
    pins = (Requirement(line) for line in lock.read_text(encoding="utf-8").splitlines() if line.strip())
    wanted = (pin for pin in pins if pin.marker is None or pin.marker.evaluate())
    return [(pin.name, str(pin.specifier).removeprefix("==")) for pin in wanted]


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def _import_error(code: str) -> str | None:
    """Last line of what `python -c code` prints on stderr when it fails, else None."""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if child.returncode == 0:
        return None
    return (child.stderr.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
