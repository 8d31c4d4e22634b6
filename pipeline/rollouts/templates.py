"""Which chat template a tokenizer is used with, and what to call it in an error.

A tokenizer's own template is used where it can render tool calls, in TRL's training variant where TRL has one (prefix
preserving, with `{% generation %}` marks). A ChatML tokenizer whose template knows no tools is given TRL's.
"""

import hashlib
from pathlib import Path

import trl
from transformers import PreTrainedTokenizerBase
from trl.chat_template_utils import get_training_chat_template, supports_tool_calling

from pipeline.errors import ModelError

CHATML_TOKENS = ("<|im_start|>", "<|im_end|>")
CHATML_TEMPLATE = "qwen3_instruct_2507_training.jinja"
TRL_TEMPLATES = Path(trl.__file__).parent / "chat_templates"


def choose_template(tokenizer: PreTrainedTokenizerBase) -> str:
    """Source of the template to use with `tokenizer`. Raises ModelError where no tools can be rendered."""
    own = own_template(tokenizer)
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
    return (TRL_TEMPLATES / CHATML_TEMPLATE).read_text(encoding="utf-8")


def own_template(tokenizer: PreTrainedTokenizerBase) -> str | None:
    """The tokenizer's own (default) template."""
    template = tokenizer.chat_template
    return template.get("default") if isinstance(template, dict) else template


def template_name(template: str) -> str:
    """The file in TRL that holds `template`, or the first hex digits of its hash: for errors."""
    for path in sorted(TRL_TEMPLATES.glob("*.jinja")):
        if path.read_text(encoding="utf-8") == template:
            return f"chat template {path.name}"
    return f"chat template with sha256 {hashlib.sha256(template.encode()).hexdigest()[:12]}"
