"""Stretches of what was read end early enough, whatever they hold."""

from pipeline.errors import TraceError
from pipeline.ingest_params import IngestParams
from pipeline.traces.chunks import chunked
from pipeline.traces.finish import Finish
from pipeline.traces.joined_scores import Later
from pipeline.traces.reading import quarantined
from pipeline.traces.reasons import Reason


def test_refusals_do_not_gather_without_end() -> None:
    fault = TraceError(Reason.NOT_AN_OBJECT, "a record must be an object")
    items = (quarantined("f", line, fault) for line in range(1, 10_001))
    chunks = list(chunked(items, Finish(IngestParams(max_line_mb=1), Later()), memoryview(bytearray())))
    assert [len(chunk.refused) for chunk in chunks] == [4096, 4096, 10_000 - 2 * 4096]
    assert [row.line for chunk in chunks for _, row in chunk.refused] == list(range(1, 10_001))
