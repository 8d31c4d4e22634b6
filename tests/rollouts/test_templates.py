"""Choosing a chat template without asking TRL gives what TRL would have said."""

from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast
from trl.chat_template_utils import get_training_chat_template, has_generation_markers, supports_tool_calling

from pipeline.rollouts.templates import chatml_template, choose_template, marks_agent, trl_templates


def test_trl_too_would_keep_the_template_that_it_is_not_asked_about(tokenizer: PreTrainedTokenizerFast) -> None:
    assert tokenizer.chat_template == chatml_template()
    assert supports_tool_calling(tokenizer)
    assert get_training_chat_template(tokenizer) is None
    assert choose_template(tokenizer) == chatml_template()


@pytest.mark.parametrize("path", sorted(trl_templates().glob("*.jinja")), ids=lambda path: path.stem)
def test_marks_are_those_that_trl_sees(path: Path) -> None:
    template = path.read_text(encoding="utf-8")
    assert marks_agent(template) is has_generation_markers(template)
