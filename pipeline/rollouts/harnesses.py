"""One harness for each set of tools: rows of several environments and of foreign traces share one tokenizer."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from pipeline.records import JsonObject, Message
from pipeline.rollouts.harness import Harness
from pipeline.rows import tools_to_json


class Harnesses:
    """Harnesses by tool schemas, made when first asked for."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, Harness] = {}

    def of(self, tools: Sequence[JsonObject]) -> Harness:
        """The harness of `tools`. Raises ModelError or MaskError when the chat template does not fit."""
        key = tools_to_json(tuple(tools))
        if key not in self._known:
            self._known[key] = Harness.load(self._tokenizer, tools)
        return self._known[key]

    def encode(self, messages: Sequence[Message], tools: Sequence[JsonObject]) -> tuple[list[int], list[int]]:
        """Ids of a conversation and the mask of the agent's own tokens, see `Harness.encode`."""
        return self.of(tools).encode(messages)
