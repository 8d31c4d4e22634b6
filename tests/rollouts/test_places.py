"""Several worlds in one batch: each episode with its own tools, its own system text and its own grades."""

from pathlib import Path

from transformers import PreTrainedTokenizerFast

from pipeline.environments.worlds import load_worlds, make_world
from pipeline.params import EnvironmentsParams, RolloutParams
from pipeline.records import StopReason, Task
from pipeline.rollouts.episodes import play
from pipeline.rollouts.places import Places
from pipeline.rollouts.pool import play_chunks
from pipeline.rollouts.transformers_engine import TransformersEngine
from pipeline.rows import rollout_from_row, rollout_to_row
from pipeline.tables import dumps
from tests.environments.foreign import QUIZ
from tests.rollouts.conftest import Counter, Scripted, qwen3, task

PERU = Task("p", "quiz", "capitals", "train", 0, "Capital of Peru?", {"country": "Peru"}, {}, (), {"line": 1})
NOWHERE = Task("n", "quiz", "capitals", "train", 0, "Capital of X?", {"country": "X"}, {}, (), {"line": 2})


def both(tokenizer: PreTrainedTokenizerFast, folder: Path, more: str = "") -> Places:
    """The counter, and a quiz written for TRL with `more` behind it."""
    (folder / "quiz.py").write_text(QUIZ + more)
    quiz = load_worlds(EnvironmentsParams(names=("quiz",), folder=str(folder)))
    return Places.load(tokenizer, {"counter": make_world("counter", Counter), **quiz})


def call(name: str, **arguments: str | int) -> str:
    """The agent's text for one call."""
    return f"<tool_call>\n{dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def test_worlds_share_a_batch(tokenizer: PreTrainedTokenizerFast, params: RolloutParams, tmp_path: Path) -> None:
    places = both(tokenizer, tmp_path)
    said = [
        [call("add", by=3), "Three."],
        [call("look_up", country="Atlantis"), call("look_up", country="Peru"), call("hand_in", capital="Lima"), "So."],
        [call("add", by=3), "Sorry."],
    ]
    scripted = Scripted(places.by_name["counter"].harness, lambda row, turn: said[row][turn])
    tries = [(task(), 0), (PERU, 0), (PERU, 1), (NOWHERE, 0)]
    counted, solved, lost, broken = play(scripted, places, tries, params, model="m", seed=3)
    prompts = [str(tokenizer.decode(list(one.prompt_ids))) for one in (counted, solved)]
    assert "Count to three." in prompts[0]
    assert '"add"' in prompts[0]
    assert '"look_up"' not in prompts[0]
    assert '"look_up"' in prompts[1]
    assert prompts[1].rstrip().endswith("Capital of Peru? Hint: it starts with L.<|im_end|>\n<|im_start|>assistant")
    assert [one.environment for one in (counted, solved, lost)] == ["counter", "quiz", "quiz"]
    assert [one.grades[0].score for one in (counted, solved, lost)] == [1.0, 1.0, 0.0]
    assert [grade.name for grade in solved.grades] == ["outcome"]
    answers = [str(turn.tool_results[0].content) for turn in solved.turns[:3]]
    assert answers == ["error: 'Atlantis'", "Lima", "thank you"]
    assert lost.turns[0].tool_results[0].content == "error: no such tool: add"
    assert (broken.stop_reason, broken.grades[0].score) == (StopReason.ENVIRONMENT_ERROR, None)
    assert [grade.name for grade in broken.grades] == ["outcome"]
    assert "KeyError: 'X'" in broken.grades[0].reason
    assert counted.sampling["harness"] != solved.sampling["harness"]
    assert all(rollout_from_row(rollout_to_row(one)) == one for one in (counted, solved, lost, broken))


def test_chunks_may_mix_worlds_and_are_made_anew_when_a_file_changes(
    tokenizer: PreTrainedTokenizerFast, params: RolloutParams, tmp_path: Path
) -> None:
    short = params.model_copy(update={"max_new_tokens": 6, "chunk": 3})
    keys = []
    for change in ("", "\nEXTRA = 1\n"):
        places = both(tokenizer, tmp_path, change)
        engine = TransformersEngine(qwen3(vocabulary=len(tokenizer)), places.eos_id, places.pad_id, 4)
        rollouts = play_chunks(
            engine, places, [task(), PERU], 2, short, model="m", seed=9, work=tmp_path / "work",
            on_progress=lambda _done, _note: None,
        )  # fmt: skip
        assert [one.environment for one in rollouts] == ["counter", "counter", "quiz", "quiz"]
        keys.append(next((tmp_path / "work").iterdir()).name)
    assert keys[0] != keys[1]
