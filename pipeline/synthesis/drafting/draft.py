"""From tool documentation to a spec for review: a model drafts, the draft is proved, faults go back to the model.

A draft that holds is written with a head that says where it came from, what was checked and what is open. When none
holds, the last one lies beside as FILE.rejected with its faults.
"""

from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import InputError, SpecError
from pipeline.remote.chat import Chat
from pipeline.remote.faults import Fault, RemoteFault
from pipeline.synthesis.drafting.answers import yaml_of
from pipeline.synthesis.drafting.documents import Documentation
from pipeline.synthesis.drafting.gaps import gaps
from pipeline.synthesis.drafting.prompt import again, opening
from pipeline.synthesis.drafting.proving import Proof, prove
from pipeline.synthesis.drafting.writing import comment, shown
from pipeline.synthesis.tasks import compiled_of
from pipeline.tables import whole_file

OPEN = (
    "whether the procedure and its rules are yours",
    "whether the tools answer in the words of the real ones",
    "whether amounts, shares and cases are like those of your work",
)
"""What no check can tell."""
_LONGEST_COMPLAINT = 2000


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be drafted. `about` and `procedure` are the user's own words and may be empty."""

    name: str
    documentation: Documentation
    about: str = ""
    procedure: str = ""
    repairs: int = 4
    draw: int = 0
    """Tells wanted repetitions apart: equal requests are answered from memory."""


def write_draft(chat: Chat, wish: Wish, out: Path) -> Proof:
    """Draft into `out`. Raises InputError when no draft holds, the model declines or there is no answer."""
    complaints: list[str] = []
    talk, last = opening(wish.name, wish.documentation, wish.about, wish.procedure), ""
    first = talk
    for _ in range(wish.repairs + 1):
        try:
            last = _answer(chat, talk, wish.draw)
            text = shown(yaml_of(last))
            proof = prove(text, wish.name)
        except SpecError as fault:
            complaints.append(str(fault)[:_LONGEST_COMPLAINT])
            talk = [*first, *again(last, complaints[-1])]
        except RemoteFault as fault:
            raise _failed(chat, wish, out, last, [*complaints, _explain(fault)]) from fault
        else:
            _write(out, _head(chat, wish, proof, complaints) + text.rstrip() + "\n")
            return proof
    raise _failed(chat, wish, out, last, complaints)


def _answer(chat: Chat, talk: list[dict[str, object]], draw: int) -> str:
    reply = chat.ask(talk, draw=draw)
    if reply.fault is not None:
        raise RemoteFault(reply.fault, reply.detail)
    return reply.message.content or ""


def _explain(fault: RemoteFault) -> str:
    if fault.fault is Fault.TRUNCATED:
        return "the answer was cut off; raise --max-tokens"
    if fault.fault is Fault.EMPTY:
        return fault.detail
    return f"{'the model declines to answer' if fault.fault is Fault.REFUSED else 'no answer'} ({fault.detail})"


def _failed(chat: Chat, wish: Wish, out: Path, last: str, complaints: list[str]) -> InputError:
    said = f"no valid draft came of {wish.documentation.source}: {shown(complaints[-1])}"
    if not last:
        return InputError(said)
    rejected = out.with_name(f"{out.name}.rejected")
    head = [f"Rejected: what {chat.endpoint.model} wrote last for {wish.documentation.source}. What was wrong:",
            *(f"{number}. {fault}" for number, fault in enumerate(complaints, 1)), ""]  # fmt: skip
    _write(rejected, comment(head) + shown(last).rstrip() + "\n")
    return InputError(f"{said}; {len(complaints)} faults and the last answer are in {rejected}")


def _head(chat: Chat, wish: Wish, proof: Proof, complaints: list[str]) -> str:
    documentation = wish.documentation
    answers = len(complaints) + 1
    open_points = [*proof.remarks, *gaps(compiled_of(proof.world).spec, documentation), *OPEN]
    return comment([
        f"DRAFT, not reviewed. {chat.endpoint.model} wrote it in {answers} answer{'s' if answers > 1 else ''} from "
        f"{documentation.source} ({documentation.kind}, {len(documentation.tools)} tools, "
        f"sha256 {documentation.sha256[:16]}).",
        "Checks that passed:", *(f"- {line}" for line in proof.passed),
        "Still open:", *(f"- {line}" for line in open_points),
        *(["Names that the form does not take, and those used instead:"] if documentation.renamed else []),
        *(f"- {old}: {new}" for old, new in documentation.renamed),
    ])  # fmt: skip


def _write(path: Path, text: str) -> None:
    with whole_file(path, "w") as stream:
        stream.write(text)
