"""`python -m pipeline env ...`, as a person or a machine runs it, on a small spec of one's own."""

import json
from pathlib import Path

import pytest
from rich.text import Text
from typer.testing import CliRunner, Result

from pipeline.env_commands.command import app
from pipeline.errors import InputError, SpecError
from tests.environments.desk import DESK, OPEN
from tests.environments.foreign import QUIZ

TASKS = '{"question": "What is the capital of Peru?", "country": "Peru"}\n'


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec of one's own, in which commands run."""
    (tmp_path / "desk.yaml").write_text(DESK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def run(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(app, list(arguments), input=typed)


def test_a_sound_environment_is_checked_and_played_once(own: Path) -> None:
    doubtful = run("check", "desk.yaml", "--tasks", "12")
    assert doubtful.exit_code == 0, doubtful.output
    assert "desk: solvable, but look at the" in doubtful.output
    (own / "desk.yaml").write_text(OPEN)
    done = run("check", "desk.yaml", "--tasks", "12")
    assert done.exit_code == 0, done.output
    assert "desk: sound; 12 tasks of 1 templates" in done.output
    assert "never_weigh" in done.output
    assert "look at: tool" not in done.output
    episode = done.output.partition("procedure")[2]
    assert "Weigh each parcel" in episode
    assert "> weigh parcel_id=P-" in episode
    assert "every demanded check was made" in episode


def test_json_is_one_object(own: Path) -> None:
    done = run("check", "desk.yaml", "--tasks", "12", "--json")
    report = json.loads(done.stdout)
    assert (report["name"], report["faults"]) == ("desk", [])
    [template] = report["templates"]
    assert template["tasks"] == 12
    assert template["calls"][0] == 2
    assert 0 < template["answers"]["earns"] <= 1
    assert report["habits"]["never_weigh"]["process"] < 1
    assert report["unused"]["columns"] == ["parcels.shelf", "parcels.kind", "shelves.floor"]


def test_a_fault_is_named_with_line_and_column(own: Path) -> None:
    (own / "desk.yaml").write_text(DESK.replace("call: weigh", "call: wiegh"))
    said = r"desk\.yaml:60:13: .*did you mean 'weigh'\?"
    with pytest.raises(SpecError, match=said):
        raise run("check", "desk.yaml").exception or AssertionError
    done = run("check", "desk.yaml", "--json")
    assert done.exit_code == 1
    [fault] = json.loads(done.stdout)["faults"]
    assert fault.startswith("desk.yaml:60:13: ")


def test_what_cannot_be_drawn_fails_and_the_other_templates_are_checked_all_the_same(own: Path) -> None:
    text = DESK.replace("between: [6, 9]", "between: [1, 2]").replace("ask: plainly}", "ask: plainly, each_case: true}")
    (own / "desk.yaml").write_text(text)
    done = run("check", "desk.yaml", "--tasks", "6")
    assert done.exit_code == 1
    assert "fault: template heavy: desk: case heavy promises rule heavy, but light decides" in done.output
    assert "procedure: " not in done.output, "no episode is played"
    report = json.loads(run("check", "desk.yaml", "--tasks", "6", "--json").stdout)
    assert {template["name"]: template["tasks"] for template in report["templates"]} == {"light": 6, "heavy": 0}


def test_a_spec_is_called_like_its_file(own: Path) -> None:
    (own / "other.yaml").write_text(DESK)
    with pytest.raises(SpecError, match=r"other\.yaml: name: is 'desk'; .*call it 'other' or rename the file"):
        raise run("check", "other.yaml").exception or AssertionError


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("claism", InputError, "^no environment 'claism'; did you mean 'claims'"),
        ("", InputError, "^'' is no name of an environment: .*`python -m pipeline env list` shows all"),
        ("my env", InputError, "^'my env' is no name of an environment"),
        ("./2nd env.py", InputError, "^'2nd env' is no name of an environment"),
        ("./nothing.yaml", SpecError, "nothing.yaml: no such file"),
        ("./notes.txt", InputError, "no environment is made from such a file"),
        ("quiz.py", InputError, "'quiz.py' is not declared in YAML"),
    ],
)
def test_names_that_lead_nowhere(own: Path, name: str, error: type[Exception], said: str) -> None:
    (own / "quiz.py").write_text(QUIZ)
    with pytest.raises(error, match=said):
        raise run("check", name).exception or AssertionError


def test_the_list_has_shipped_ones_and_ones_own(own: Path, params_file: Path) -> None:
    params_file.replace(own / "params.yaml")
    folder = own / "pipeline" / "environments" / "specs"
    folder.mkdir(parents=True)
    (folder / "desk.yaml").write_text(DESK)
    (folder / "broken.yaml").write_text(DESK.replace("call: weigh", "call: wiegh"))
    (folder / "quiz.py").write_text(QUIZ)
    done = run("list")
    assert done.exit_code == 0
    lines = {line.split()[0]: line for line in done.output.splitlines() if line and not line.startswith(" ")}
    assert {"archive", "claims", "orders", "desk", "broken", "quiz"} <= lines.keys()
    assert "A desk for parcels. 3 tools, 1 templates." in lines["desk"]
    assert "60:13" in done.output
    assert "Python" in lines["quiz"]


def test_the_schema_is_printed() -> None:
    assert json.loads(run("schema").stdout)["properties"]["tables"]


def test_playing_by_hand(own: Path) -> None:
    typed = "help\nwiegh P-1\nweigh\nweigh {\n\nweigh P-1\n"
    done = run("play", "desk.yaml", "--seed", "3", typed=typed)
    assert done.exit_code == 0, done.output
    assert "there is no tool 'wiegh'; did you mean 'weigh'? (not counted as a call)" in done.output
    assert "weigh also needs parcel_id" in done.output
    assert "that is not JSON" in done.output
    assert "error: not found: P-1" in done.output
    assert "The episode is over after 1 calls" in done.output
    assert "should be" in done.output


def test_who_wants_to_quit_is_told_how_to_end_with_grades_and_goes_on_playing(own: Path) -> None:
    done = run("play", "desk.yaml", typed="quit\nexit\nweigh P-1\ndone\n")
    assert done.output.count("`done` ends the episode, with its grades. To leave without them: Ctrl-C") == 2
    assert "no tool" not in done.output
    assert "The episode is over after 1 calls" in done.output


def test_nothing_is_wrapped_off_a_terminal(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")
    (own / "desk.yaml").write_text(DESK.replace("A desk for parcels.", f"A desk for parcels, {'long ' * 60}."))
    lines = run("check", "desk.yaml", "--tasks", "12").output.splitlines()
    assert lines[0].endswith("long .")
    [verdict] = [line for line in lines if line.startswith("desk: ")][1:]
    assert verdict.endswith("each solved by its golden run with outcome 1 and process 1")
    assert "procedure: Weigh each parcel; refuse heavy ones." in lines


def test_a_terminal_gets_frames_of_its_width(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    lines = Text.from_ansi(run("play", "desk.yaml", typed="done\n").output).plain.splitlines()
    assert any(line.startswith("╭─ procedure ─") for line in lines)
    assert max(map(len, lines)) <= 60


def test_playing_the_golden_run_by_hand_earns_everything(own: Path) -> None:
    lines = run("play", "desk.yaml").output.splitlines()
    golden = [line for line in lines if line.startswith(("  weigh", "  send", "  refuse"))]
    done = run("play", "desk.yaml", typed="\n".join([*golden, "done All sent.", "weigh P-1"]))
    assert done.output.count("1.00") == 3
    assert "not found" not in done.output


def test_playing_what_is_written_in_python(own: Path) -> None:
    (own / "quiz.py").write_text(QUIZ)
    (own / "quiz.jsonl").write_text(TASKS)
    done = run("play", "quiz.py", typed="look_up Peru\nhand_in capital=Lima\ndone\n")
    assert done.exit_code == 0, done.output
    assert "What is the capital of Peru?" in done.output
    assert "what get_reward gave" in done.output


def test_an_unknown_template_is_answered_with_a_close_one(own: Path) -> None:
    with pytest.raises(InputError, match=r"'desk' has no template 'whoel'; did you mean 'whole'\?"):
        raise run("play", "desk.yaml", "--template", "whoel").exception or AssertionError
