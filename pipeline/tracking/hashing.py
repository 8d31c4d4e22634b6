"""Hashes of files and folders, equal to the ones DVC writes into dvc.lock.

DVC 3 hashes a file by the md5 of its bytes, and a folder by the md5 of the JSON list of its files' hashes and relative
paths, with `.dir` behind it (dvc_data/hashfile/tree.py). Repeating that costs 40 lines; importing DVC costs a second a
stage. Hashes of large files are remembered by size and time of change, as DVC does itself.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from errno import EINVAL
from pathlib import Path
from stat import S_ISREG

import pathspec

_DVC_IGNORES = (".hg/", ".git/", ".git", ".dvc/")
_REMEMBER_FROM = 1 << 20
"""Bytes; smaller files are hashed each time."""


class Hasher:
    """Hashes paths of one workspace; `save` keeps what it learned about large files."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._memory_file = root / ".work" / "hashes.json"
        self._memory = _read_memory(self._memory_file)
        self._learned = False
        self._ignored = _ignore_rules(root)

    def hash(self, path: str) -> str | None:
        """Md5 of the file `path` (relative to the root), md5 + `.dir` of a folder, None where nothing is there.

        Raises OSError where a file cannot be read.
        """
        full = self._root / path
        if full.is_dir():
            return self._folder(full)
        return self._file(full) if full.is_file() else None

    def files(self, folder: Path) -> Iterator[Path]:
        """Every file below `folder` that DVC would count, sorted by relative path."""
        found = []
        for parent, folders, names in os.walk(folder):
            here = Path(parent)
            folders[:] = [name for name in folders if not self._is_ignored(here / name, "/")]
            found += [here / name for name in names if not self._is_ignored(here / name, "")]
        yield from sorted(found, key=lambda path: path.relative_to(folder).as_posix())

    def save(self) -> None:
        """Write the remembered hashes of large files, whole or not at all. Raises OSError."""
        if not self._learned:
            return
        self._memory_file.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._memory_file.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(self._memory), encoding="utf-8")
        temporary.replace(self._memory_file)

    def _folder(self, folder: Path) -> str:
        entries = [
            {"md5": self._file(path), "relpath": path.relative_to(folder).as_posix()} for path in self.files(folder)
        ]
        return hashlib.md5(json.dumps(entries, sort_keys=True).encode(), usedforsecurity=False).hexdigest() + ".dir"

    def _file(self, path: Path) -> str:
        stat = path.stat()
        if not S_ISREG(stat.st_mode):  # to open a pipe would wait for somebody to write into it
            raise OSError(EINVAL, "not a regular file", str(path))
        key, stamp = path.relative_to(self._root).as_posix(), [stat.st_size, stat.st_mtime_ns, stat.st_ino]
        known = self._memory.get(key)
        if known is not None and known[:3] == stamp:
            return str(known[3])
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "md5").hexdigest()
        if stat.st_size >= _REMEMBER_FROM:
            self._memory[key] = [*stamp, digest]
            self._learned = True
        return digest

    def _is_ignored(self, path: Path, suffix: str) -> bool:
        return self._ignored.match_file(path.relative_to(self._root).as_posix() + suffix)


def _ignore_rules(root: Path) -> pathspec.GitIgnoreSpec:
    own = root / ".dvcignore"
    lines = own.read_text(encoding="utf-8").splitlines() if own.is_file() else []
    return pathspec.GitIgnoreSpec.from_lines([*_DVC_IGNORES, *lines])


def _read_memory(path: Path) -> dict[str, list[int | str]]:
    try:
        memory = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return memory if isinstance(memory, dict) else {}
