"""What the model sees around it, reduced to a hash: two traces with equal hashes were made with the same tools."""

import hashlib
from collections.abc import Sequence

from pipeline.records import JsonObject
from pipeline.tables import dumps

NO_TOOLS = "none"


def harness_hash(tools: Sequence[JsonObject]) -> str:
    """16 hex digits of the tools' schemas, whatever the order of tools and keys; NO_TOOLS when none are recorded.

    `tools` are in the OpenAI form: `{"type": "function", "function": {"name", "description", "parameters"}}`.
    """
    if not tools:
        return NO_TOOLS
    canonical = dumps(sorted(dumps(tool.get("function", tool)) for tool in tools))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
