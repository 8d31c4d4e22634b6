"""What `python -m pipeline synthesize spec` does once its options are read."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from pipeline.errors import InputError
from pipeline.remote.chat import Chat
from pipeline.remote.endpoint import Endpoint
from pipeline.remote.memory import Memory
from pipeline.synthesis.drafting.documents import Documentation
from pipeline.synthesis.drafting.draft import Wish, write_draft
from pipeline.synthesis.drafting.from_traces import draft_from_traces
from pipeline.synthesis.drafting.naming import fits
from pipeline.synthesis.drafting.plain import read_text
from pipeline.tables import whole_file


def spec_name(out: Path) -> str:
    """The name of the spec that a file holds. Raises InputError for a file that is there, or that names no spec."""
    if out.exists():
        raise InputError(f"{out}: is there already; a draft replaces nothing, so name another file or remove this one")
    if out.suffix != ".yaml" or not fits(out.stem):
        raise InputError(f"{out}: an environment is called like its file, so take a name such as returns_desk.yaml")
    return out.stem


def draft_from_documentation(
    documentation: Documentation, out: Path, endpoint: Endpoint, *, about: str = "", procedure: Path | None = None,
    repairs: int = 4, draw: int = 0,
) -> str:  # fmt: skip
    """Draft into `out`; returns what to tell the user. Raises InputError, EndpointError."""
    rules = "" if procedure is None else read_text(procedure).strip()
    wish = Wish(spec_name(out), documentation, about, rules, repairs, draw)
    with _memory() as memory, Chat(endpoint, memory) as chat:
        proof = write_draft(chat, wish, out)
    return "\n".join([f"{out}: a draft for you to review; its head says what was checked and what is open",
                      *(f"  {line}" for line in proof.passed)])  # fmt: skip


def draft_from_runs(traces: Path, out: Path, about: str, tools: Collection[str]) -> str:
    """Draft into `out` what a table of traces shows, without a model; returns what to tell the user.

    Raises InputError.
    """
    text, said = draft_from_traces(traces, spec_name(out), about, tools)
    with whole_file(out, "w") as stream:
        stream.write(text)
    return f"{out}: a draft for you to review; OPEN marks what traces cannot tell\n  {said}"


def endpoint(
    base_url: str | None, model: str | None, key_env: str | None, max_tokens: int, temperature: float
) -> Endpoint:
    """Where the model answers. Raises InputError for a value that is no address, name or variable."""
    if base_url is None or model is None:
        raise InputError("tool documentation becomes a spec by a model; name one with --base-url and --model")
    try:
        return Endpoint(
            base_url=base_url, model=model, key_env=key_env, max_tokens=max_tokens, temperature=temperature,
            timeout=600.0, give_up=0,
        )  # fmt: skip
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        option = str(fault["loc"][0]).replace("_", "-")
        raise InputError(f"--{option}: {fault['msg'].removeprefix('Value error, ')}") from error


@contextmanager
def _memory() -> Iterator[Memory]:
    memory = Memory()
    try:
        yield memory
    finally:
        memory.close()
