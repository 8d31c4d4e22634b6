"""A dry run of `ingest` over one file or folder: the same readers, nothing written."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import InputError
from pipeline.ingest_params import IngestParams
from pipeline.params import load_params
from pipeline.records import JsonObject, Quarantined, Trace
from pipeline.rows import trace_to_row
from pipeline.traces import FORMATS
from pipeline.traces.decode import unstorable
from pipeline.traces.folder import Found, peek, read_file, trace_files
from pipeline.traces.intake import repeated
from pipeline.traces.joined_scores import load_scores
from pipeline.traces.preview import HEAD_BYTES
from pipeline.traces.reading import quarantined
from pipeline.traces.units import read_unit, trace_units

SCORES = "scores"
"""What stands in the place of a format for files of later scores."""


@dataclass(slots=True)
class FileReport:
    """What came of one file."""

    path: str
    format: str | None
    traces: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    faults: list[Quarantined] = field(default_factory=list)
    """The first ones."""

    @property
    def quarantined(self) -> int:
        """Records that did not become a trace."""
        return self.reasons.total()

    def refuse(self, row: Quarantined, most: int) -> None:
        """Count a fault, and keep it if it is among the first `most`."""
        self.reasons[row.reason] += 1
        if len(self.faults) < most:
            self.faults.append(row)

    def as_json(self) -> JsonObject:
        """The report as `--json` prints it."""
        faults = [{name: getattr(row, name) for name in ("line", "field", "reason", "message")} for row in self.faults]
        return {
            "path": self.path, "format": self.format, "traces": self.traces, "quarantined": self.quarantined,
            "reasons": dict(sorted(self.reasons.items())), "faults": faults,
        }  # fmt: skip


def check_path(path: Path, most: int) -> list[FileReport]:
    """A report for each file at or below `path`, in the order of ingest. Raises InputError when nothing is there."""
    params = _params()
    if path.is_dir():
        return _folder(path, params, most)
    if not path.exists() and not path.is_symlink():
        raise InputError(f"{path}: no such file or folder")
    cap = params.max_line_mb << 20
    report = _blank(str(path), path)
    _fill({path.name: report}, read_file(path, path.name, cap), most)
    return [report]


def _params() -> IngestParams:
    """Those of the project, or the defaults outside of one."""
    return load_params().ingest if Path("params.yaml").exists() else IngestParams(max_line_mb=32)


def _folder(root: Path, params: IngestParams, most: int) -> list[FileReport]:
    cap, scores = params.max_line_mb << 20, f"{params.scores}/"
    reports = {source: _blank(str(root / source), path, source.startswith(scores)) for source, path in _files(root)}
    units = [unit for unit in trace_units(root) if not unit.files[0][0].startswith(scores)]
    _fill(reports, (item for unit in units for item in read_unit(unit, cap)), most)
    for row in load_scores(root / params.scores, params.scores, cap)[1]:
        reports[row.source].refuse(row, most)
    return list(reports.values())


def _files(root: Path) -> list[Found]:
    files = trace_files(root)
    if not files:
        raise InputError(f"{root}: the folder holds no file that would be read; hidden ones are passed over")
    return files


def _blank(shown: str, path: Path, scores: bool = False) -> FileReport:
    head = peek(path, HEAD_BYTES)
    known = (name for name, form in FORMATS.items() if head.strip() and form.sniff(head))
    return FileReport(shown, SCORES if scores else next(known, None))


def _fill(reports: dict[str, FileReport], items: Iterator[Trace | Quarantined], most: int) -> None:
    seen: dict[str, float | None] = {}
    for item in items:
        report = reports[item.source]
        refused = item if isinstance(item, Quarantined) else _refusal(item, seen)
        if refused is not None:
            report.refuse(refused, most)
        elif isinstance(item, Trace):
            report.format = item.format if report.traces == 0 else report.format
            report.traces += 1


def _refusal(trace: Trace, seen: dict[str, float | None]) -> Quarantined | None:
    """Why `ingest` would not write a trace that was read; None when it would."""
    if trace.trace_id in seen:
        again = repeated(trace.group_id, trace.try_id, trace.reward, seen[trace.trace_id])
        return quarantined(trace.source, trace.line, again)
    try:
        trace_to_row(trace)
    except TypeError as error:
        return quarantined(trace.source, trace.line, unstorable(error, "metadata"))
    seen[trace.trace_id] = trace.reward
    return None
