"""The YAML in a model's answer, as text; nothing of it is read here."""

import re

from pipeline.errors import SpecError

_FENCED = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[ ]*([A-Za-z]*)[^\n]*\n(.*?)^[ ]{0,3}\1[ ]*$", re.MULTILINE | re.DOTALL)
_OPEN = re.compile(r"^[ ]{0,3}(?:`{3,}|~{3,})[ ]*(?:ya?ml)?[ ]*\n", re.MULTILINE | re.IGNORECASE)
_FIRST = re.compile(r"^name:\s", re.MULTILINE)


def yaml_of(answer: str) -> str:
    """The longest YAML block, or the answer itself where it is YAML without a fence. Raises SpecError."""
    text = answer.rpartition("</think>")[2].replace("\r\n", "\n")
    blocks = [block for _, language, block in _FENCED.findall(text) if language.lower() in ("", "yaml", "yml")]
    if blocks:
        return str(max(blocks, key=len))
    if opened := _OPEN.search(text):
        return text[opened.end() :]
    if first := _FIRST.search(text):
        return text[first.start() :]
    raise SpecError("the answer holds no YAML block")
