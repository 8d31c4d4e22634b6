"""A model drafts, the draft is proved, faults go back, and a person gets a file that says what is open."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.environments.declared import load_spec
from pipeline.errors import InputError, RehearsalError
from pipeline.synthesis.drafting.command import draft_from_documentation, endpoint
from pipeline.synthesis.drafting.documents import read_documentation
from tests.openai_server import Answer, Script, ScriptedServer, message, refuse, say, scripted_server, status
from tests.synthesis.drafting.material import MANY, NO_EFFECT, OPENAPI, SPEC, WRONG_CASE, WRONG_COLUMN, fenced


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own: answers are remembered below the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "openapi.yaml").write_text(OPENAPI)
    return tmp_path


def draft(script: Script, **options: object) -> tuple[ScriptedServer, str]:
    """Draft lending.yaml with a server that answers by `script`."""
    with scripted_server(script) as server:
        where = endpoint(server.base_url, "drafter", None, 1000, 0.0).model_copy(update={"retries": 0})
        said = draft_from_documentation(
            read_documentation(Path("openapi.yaml")), Path("lending.yaml"), where, **options  # type: ignore[arg-type]
        )
    return server, said


def test_a_good_answer_is_written_with_its_origin_and_what_is_open() -> None:
    server, said = draft([say(fenced(SPEC))], about="Loans of a library.")
    assert "20 tasks" not in said
    assert said.startswith("lending.yaml: a draft for you to review")
    text = Path("lending.yaml").read_text()
    head, _, rest = text.partition("name: lending")
    assert SPEC.rstrip() + "\n" == f"name: lending{rest}"
    assert head.startswith("# DRAFT, not reviewed. drafter wrote it in 1 answer from openapi.yaml (OpenAPI 3.0.3, Len")
    assert "# - read as a spec: 3 tools, 1 templates\n# - 10 tasks drawn, 10 tries a template\n" in head
    assert "# - tool extend_loan: parameter type_value is documented as optional but not in the draft\n" in head
    assert "# - tool delete_loans_loan_id: parameter loan_id is" not in head
    assert "# - whether the procedure and its rules are yours\n" in head
    assert "# - getLoan.loanId: get_loan.loan_id\n" in head
    assert load_spec(Path("lending.yaml")).spec.name == "lending"
    [request] = server.requests
    for part in ("claims desk", "Loans of a library.", '{"tool":"get_loan"', "`lending`"):
        assert part in request.last


@pytest.mark.parametrize(
    ("first", "complaint"),
    [
        ("I would rather talk about it.", "the answer holds no YAML block"),
        (fenced("name: [lending\n"), "draft:2:1: not valid YAML"),
        (fenced("- a\n- b\n"), "a spec is a mapping"),
        (fenced("name: lending\nabout: x\n"), "draft:1:1: tables: is missing"),
        (fenced("a: &x [1]\nb: [*x, *x]\n"), "anchors and aliases are not allowed"),
        (fenced(SPEC.replace("name: lending", "name: other")), "is 'other'; call it 'lending'"),
        (fenced(WRONG_COLUMN), "undeclared reference to 'loan.week'"),
        (fenced(WRONG_CASE), "case reserved promises rule reserved, but extend decides"),
        (fenced(MANY), "121 templates, cases counted; a draft has at most 100"),
        (fenced(NO_EFFECT), "all 10 drawn tasks are rejected as 10 trivial"),
    ],
)
def test_a_fault_goes_back_and_the_second_answer_mends_it(first: str, complaint: str) -> None:
    server, _ = draft([say(first), say(fenced(SPEC))])
    opening, second = server.requests
    assert [each["role"] for each in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[:2] == opening.messages
    assert second.messages[2]["content"] == first
    assert complaint in second.last
    assert "wrote it in 2 answers" in Path("lending.yaml").read_text()


def test_only_the_last_answer_and_its_fault_go_back() -> None:
    server, _ = draft([say("no"), say(fenced(WRONG_COLUMN)), say(fenced(SPEC))])
    assert len(server.requests[2].messages) == 4
    assert "loan.week" in server.requests[2].last


def test_a_model_that_never_gives_a_valid_draft_leaves_the_last_one_beside() -> None:
    bad = fenced(WRONG_CASE).replace("Here is", "\x1b[2JHere is")
    with pytest.raises(InputError, match=r"no valid draft came of openapi\.yaml: .*; 3 faults .* lending\.yaml\.rej"):
        draft([say("no"), say(fenced(WRONG_COLUMN)), say(bad)], repairs=2)
    assert not Path("lending.yaml").exists()
    text = Path("lending.yaml.rejected").read_text()
    assert text.startswith("# Rejected: what drafter wrote last for openapi.yaml.")
    assert "# 1. the answer holds no YAML block\n# 2. draft:16:14: tools.get_loan.returns:" in text
    assert "\\u001b[2JHere is" in text
    assert WRONG_CASE in text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (refuse("I must not."), r"the model declines to answer \(I must not\.\)$"),
        (say(""), r": the model answered with nothing$"),
        (message({"content": "name: lend"}, "length"), r"the answer was cut off; raise --max-tokens"),
        (status(400, "too long"), r"no answer \(status 400: .*too long"),
        (status(500, "broken"), r"no answer \(status 500"),
        (Answer(b"", drop=True), r"no answer \(RemoteProtocolError"),
    ],
)
def test_without_an_answer_there_is_no_draft(answer: Answer, said: str) -> None:
    with pytest.raises(InputError, match=said):
        draft([answer])
    assert not list(Path().glob("lending*"))


def test_a_refusal_after_a_faulty_answer_keeps_that_answer() -> None:
    with pytest.raises(InputError, match=r"declines .* 2 faults and the last answer are in lending\.yaml\.rejected"):
        draft([say(fenced(WRONG_COLUMN)), refuse()])
    assert "string(loan.week)" in Path("lending.yaml.rejected").read_text()


@pytest.mark.parametrize(("code", "said"), [(401, "the key is refused"), (404, "no such address or model")])
def test_a_wrong_key_or_model_says_so(code: int, said: str) -> None:
    with pytest.raises(RehearsalError, match=said):
        draft([status(code)])


def test_a_server_that_is_down_says_so() -> None:
    with scripted_server() as server:
        address = server.base_url
    where = endpoint(address, "drafter", None, 1000, 0.0).model_copy(update={"retries": 0})
    with pytest.raises(InputError, match=r"no valid draft came of openapi\.yaml: no answer \(ConnectError"):
        draft_from_documentation(read_documentation(Path("openapi.yaml")), Path("lending.yaml"), where)


def test_the_same_wish_again_is_answered_from_memory_unless_another_draw_is_wanted() -> None:
    with scripted_server([say(fenced(SPEC)), say(fenced(SPEC))]) as server:
        where = endpoint(server.base_url, "drafter", None, 1000, 0.0)
        documentation = read_documentation(Path("openapi.yaml"))
        for name, number, asked in (("lending.yaml", 0, 1), ("lending.yaml", 0, 1), ("lending.yaml", 1, 2)):
            Path(name).unlink(missing_ok=True)
            draft_from_documentation(documentation, Path(name), where, draw=number)
            assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("name", "said"),
    [("there.yaml", r"is there already"), ("Lending.yaml", r"called like its file"),
     ("lending.txt", r"called like its file"), ("import.yaml", r"called like its file"),
     ("../__class__.yaml", r"called like its file")],
)  # fmt: skip
def test_a_draft_replaces_nothing_and_is_called_like_its_file(name: str, said: str) -> None:
    Path("there.yaml").write_text("mine")
    where = endpoint("http://127.0.0.1:9/v1", "drafter", None, 1000, 0.0)
    with pytest.raises(InputError, match=said):
        draft_from_documentation(read_documentation(Path("openapi.yaml")), Path(name), where)


@pytest.mark.parametrize(
    ("base_url", "key_env", "said"),
    [(None, None, "name one with --base-url and --model"), ("ftp://x", None, "--base-url: must be an address"),
     ("http://x", "a b", "--key-env: String should match")],
)  # fmt: skip
def test_wrong_options_are_named(base_url: str | None, key_env: str | None, said: str) -> None:
    with pytest.raises(InputError, match=said):
        endpoint(base_url, "m", key_env, 9, 0.0)


def test_the_command_drafts_and_fails_with_one_line() -> None:
    with scripted_server([say(fenced(SPEC)), refuse("No.")]) as server:
        asked = ["synthesize", "spec", "--from", "openapi.yaml", "--base-url", server.base_url, "--model", "drafter"]
        done = CliRunner().invoke(app, [*asked, "--out", "lending.yaml", "--tool", "get_loan", "--tool", "extend_loan"])
        assert (done.exit_code, done.stdout.splitlines()[1]) == (0, "  read as a spec: 3 tools, 1 templates")
        assert "tool delete_loans_loan_id is in the draft but not documented" in Path("lending.yaml").read_text()
        failed = CliRunner().invoke(app, [*asked, "--out", "other.yaml"])
    assert (failed.exit_code, str(failed.exception)) == (
        1, "no valid draft came of openapi.yaml: the model declines to answer (No.)",
    )  # fmt: skip
