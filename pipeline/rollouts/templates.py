"""Which chat template a tokenizer is used with, and what to call it in an error.

A tokenizer's own template is used where it can render tool calls, in TRL's training variant where TRL has one (prefix
preserving, with `{% generation %}` marks). A ChatML tokenizer whose template knows no tools is given TRL's.
"""

import hashlib
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from pipeline.errors import ModelError

CHATML_TOKENS = ("<|im_start|>", "<|im_end|>")
CHATML_TEMPLATE = "qwen3_instruct_2507_training.jinja"
"""TRL's template for ChatML tokenizers: it knows tools and marks the agent's own tokens."""

_GENERATION = re.compile(r"\{%-?\s*generation\s*-?%\}")


def choose_template(tokenizer: PreTrainedTokenizerBase) -> str:
    """Source of the template to use with `tokenizer`. Raises ModelError where no tools can be rendered."""
    own = own_template(tokenizer)
    if own is not None and own == chatml_template():
        return own
    # Here and not above: TRL brings datasets and pandas along, a second in every process that holds a tokenizer.
    from trl.chat_template_utils import get_training_chat_template, supports_tool_calling

    if own is not None and supports_tool_calling(tokenizer):
        try:
            return get_training_chat_template(tokenizer) or own
        except ValueError:  # unknown to TRL: kept, and its mask is taken from prefixes
            return own
    added = tokenizer.get_added_vocab()
    absent = [token for token in CHATML_TOKENS if token not in added]
    if absent:
        raise ModelError(
            f"{tokenizer.name_or_path or 'tokenizer'}: its chat template cannot render tool calls, and it lacks the "
            f"special token {absent[0]} that ChatML needs; choose a model with a tool-calling chat template"
        )
    return chatml_template()


@cache
def chatml_template() -> str:
    """Source of CHATML_TEMPLATE."""
    return (trl_templates() / CHATML_TEMPLATE).read_text(encoding="utf-8")


def trl_templates() -> Path:
    """The folder of templates that TRL ships, found without importing TRL."""
    spec = find_spec("trl")
    if spec is None or spec.origin is None:
        raise ModelError("trl is not installed; install the packages of requirements.lock")
    return Path(spec.origin).parent / "chat_templates"


def marks_agent(template: str) -> bool:
    """Whether a template marks the agent's own tokens, by `{% generation %}`."""
    return _GENERATION.search(template) is not None


def own_template(tokenizer: PreTrainedTokenizerBase) -> str | None:
    """The tokenizer's own (default) template."""
    template = tokenizer.chat_template
    return template.get("default") if isinstance(template, dict) else template


def template_name(template: str) -> str:
    """The file in TRL that holds `template`, or the first hex digits of its hash: for errors."""
    for path in sorted(trl_templates().glob("*.jinja")):
        if path.read_text(encoding="utf-8") == template:
            return f"chat template {path.name}"
    return f"chat template with sha256 {hashlib.sha256(template.encode()).hexdigest()[:12]}"
