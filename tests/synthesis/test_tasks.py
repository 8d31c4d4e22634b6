"""Tasks are determined by seed and index, provably solvable, and share nothing between splits."""

import random

import orjson
import pytest

from pipeline.errors import ParamsError
from pipeline.graders.reward import outcome, process, score
from pipeline.harness_hash import harness_hash
from pipeline.records import Split, Task
from pipeline.synthesis.demos import GOLDEN, HABITS, check_habits, demonstrate
from pipeline.synthesis.identity import split_of
from pipeline.synthesis.recorded import anthropic_row, openai_row, recorded_run, recorded_tasks
from pipeline.synthesis.scripted import run_scripted
from pipeline.synthesis.tasks import make_task, unique_tasks
from tests.worlds import CLAIMS, WORLDS

SPLITS: tuple[Split, ...] = ("train", "valid", "eval")


def ids_of(task: Task) -> set[str]:
    return {key for table in task.initial_state.values() for key in table}


def test_equal_seed_and_index_give_an_equal_task() -> None:
    assert make_task(CLAIMS, 7, "train", 11) == make_task(CLAIMS, 7, "train", 11)
    assert make_task(CLAIMS, 7, "train", 11) != make_task(CLAIMS, 8, "train", 11)


def test_a_longer_split_begins_with_the_shorter_one() -> None:
    assert list(unique_tasks(CLAIMS, 1, "valid", 30))[:12] == list(unique_tasks(CLAIMS, 1, "valid", 12))


def test_splits_share_no_number() -> None:
    numbers = {split: set().union(*map(ids_of, unique_tasks(CLAIMS, 1, split, 60))) for split in SPLITS}
    assert not numbers["train"] & numbers["valid"]
    assert not numbers["train"] & numbers["eval"]
    assert not numbers["valid"] & numbers["eval"]
    assert all(split_of(int(key[2:])) == "train" for task in recorded_tasks(CLAIMS, 1, 40) for key in ids_of(task))


def test_the_question_does_not_give_the_template_away() -> None:
    by_template: dict[str, set[str]] = {}
    for task in unique_tasks(CLAIMS, 1, "train", 560):
        words = task.question.translate(str.maketrans("", "", "0123456789"))
        by_template.setdefault(task.template, set()).add(words)
    single = [words for name, words in by_template.items() if name not in ("by_customer", "two_claims")]
    assert all(words == single[0] for words in single)
    assert by_template["by_customer"] == by_template["two_claims"]


def test_demonstrations_are_perfect() -> None:
    for demo in demonstrate(WORLDS, list(unique_tasks(CLAIMS, 2, "train", 28))):
        assert (demo.outcome, demo.process) == (1.0, 1.0)
        assert demo.harness_hash == harness_hash(CLAIMS.tools)


def test_chosen_habits_show_in_their_share_of_the_demonstrations() -> None:
    tasks = list(unique_tasks(CLAIMS, 2, "train", 56))
    plain = list(demonstrate(WORLDS, tasks))
    shown = list(demonstrate(WORLDS, tasks, {"reread_claim": 0.5, "skip_fraud": 0.0, "not_of_this_world": 1.0}))
    odd = [demo for demo in shown if demo.author == HABITS]
    assert 14 < len(odd) < 42
    assert all(demo.outcome == 1.0 and demo.process is not None and demo.process < 1.0 for demo in odd)
    assert [demo for demo in shown if demo.author == GOLDEN] == [
        one for one, other in zip(plain, shown, strict=True) if other.author == GOLDEN
    ]
    always = list(demonstrate(WORLDS, tasks, {"skip_fraud": 1.0}))
    assert {demo.author for demo in always} == {HABITS}
    assert {demo.outcome for demo in always} == {0.0, 1.0}, "where there is fraud, who never looks decides wrongly"


def test_a_habit_that_no_environment_has_is_named_with_a_close_one() -> None:
    check_habits(WORLDS, ["reread_claim"])
    with pytest.raises(ParamsError, match=r"synthesize\.habits: .* 'reread_claims'; did you mean 'reread_claim'\?"):
        check_habits(WORLDS, ["reread_claims"])


@pytest.mark.parametrize(
    ("habit", "template"),
    [
        ("skip_policy", "not_covered"),
        ("skip_waiting", "waiting_period"),
        ("skip_documents", "first_document"),
        ("skip_fraud", "fraud"),
        ("overlook_second_document", "second_document"),
        ("ignore_authority", "authority"),
    ],
)
def test_a_habit_fails_where_it_matters_and_passes_elsewhere(habit: str, template: str) -> None:
    tasks = list(unique_tasks(CLAIMS, 5, "train", 56))
    wanted = next(task for task in tasks if task.template == template)
    plain = next(task for task in tasks if task.template == "approve")
    assert outcome(run_scripted(CLAIMS, wanted, frozenset({habit}), random.Random(1))[1]) == 0.0
    lucky = run_scripted(CLAIMS, plain, frozenset({habit}), random.Random(1))[1]
    assert outcome(lucky) == 1.0
    way = process(lucky)
    assert way is not None
    assert (way < 1.0) == habit.startswith("skip")


def test_a_needless_call_costs_economy() -> None:
    task = next(unique_tasks(CLAIMS, 1, "train", 1))
    grades = run_scripted(CLAIMS, task, frozenset({"reread_claim"}), random.Random(1))[1]
    economy = score(grades, "economy")
    assert economy is not None
    assert economy < 1.0


def test_recorded_runs_are_mixed_and_written_in_two_formats() -> None:
    rewards = []
    for task in recorded_tasks(CLAIMS, 1, 30):
        messages, reward = recorded_run(CLAIMS, task, 0, skip=0.45, slip=0.05)
        rewards.append(reward)
        chat, blocks = (orjson.loads(write(CLAIMS, task, 0, messages, reward)) for write in (openai_row, anthropic_row))
        assert chat["reward"] == blocks["reward"] == reward
        assert len(chat["messages"]) == len(blocks["messages"]) + 1
        assert isinstance(chat["messages"][2]["tool_calls"][0]["function"]["arguments"], str)
        assert blocks["messages"][1]["content"][0]["input"]
    assert 0.2 < sum(rewards) / len(rewards) < 0.8
