"""Where a training run keeps what lets it go on after a kill: checkpoints, ledger parts, the best model so far.

The folder is named by a hash of all that the run hangs on, so other data or params never meet an old checkpoint.
A checkpoint is filled under `staging` and appears under `checkpoints` by one rename: whole or not at all.
"""

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import InputError
from pipeline.records import JsonObject
from pipeline.tables import dumps

KEY_LENGTH = 16


def run_key(values: JsonObject, paths: Iterable[Path]) -> str:
    """16 hex digits over `values` and the contents of `paths` (files, or folders with all files below them).

    Raises InputError when a path is missing.
    """
    digest = hashlib.sha256(dumps(values).encode())
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such file; run the stage that writes it first (`dvc repro`)")
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"\n{file.as_posix()}\n".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:KEY_LENGTH]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one training run."""

    root: Path

    @property
    def staging(self) -> Path:
        """Where a checkpoint is filled."""
        return self.root / "staging"

    @property
    def ledger(self) -> Path:
        """Parts of the ledger."""
        return self.root / "ledger"

    def best(self, step: int) -> Path:
        """The model after `step` generation steps, kept as the best so far."""
        return self.root / f"best-{step:06d}"

    def latest(self) -> Path | None:
        """The newest checkpoint; None before the first."""
        return max((self.root / "checkpoints").glob("*"), default=None)

    def publish(self, staged: Path, step: int, best_step: int) -> None:
        """Make `staged` the checkpoint of generation step `step`; then drop older ones and models no longer best."""
        target = self.root / "checkpoints" / f"{step:06d}"
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            shutil.rmtree(target)
        staged.rename(target)
        self._drop([path for path in target.parent.iterdir() if path != target])
        self._drop([path for path in self.root.glob("best-*") if path != self.best(best_step)])

    def _drop(self, paths: Iterable[Path]) -> None:
        for path in paths:
            shutil.rmtree(path)
