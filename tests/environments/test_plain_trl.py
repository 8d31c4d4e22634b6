"""Environments of ours in plain TRL: its own GRPOTrainer, its own tool loop, our tools and grades."""

from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
import trl
from datasets import Dataset
from transformers import PreTrainedTokenizerBase
from trl import GRPOConfig, GRPOTrainer

from pipeline.environments.plain_trl import trl_rows
from pipeline.environments.worlds import load_worlds
from pipeline.params import EnvironmentsParams, load_params
from pipeline.records import Task
from pipeline.synthesis.tasks import unique_tasks
from pipeline.tables import dumps
from pipeline.training.loading import load_model, load_tokenizer
from pipeline.training.tiny import build_tiny
from tests.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:You are using 'environment_factory'")]

WORLDS = load_worlds(EnvironmentsParams(names=("claims", "orders"), folder="pipeline/environments/specs"))
SIZE = {"hidden_size": 32, "layers": 1, "heads": 2, "head_dim": 16, "intermediate_size": 32, "vocab_size": 400}


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with random weights whose tokenizer knows single bytes."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    base = load_params(ROOT / "params.yaml").base
    build_tiny((), base.model_copy(update=SIZE | {"max_positions": 16384}), 1, folder)
    return folder


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    """A task of each environment."""
    return [next(iter(unique_tasks(world, 3, "train", 1))) for world in WORLDS.values()]


def stock(model_dir: Path) -> PreTrainedTokenizerBase:
    """The tokenizer with the template by which TRL knows how calls are written; it trains on its own variant of it."""
    tokenizer = load_tokenizer(model_dir)
    tokenizer.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen3_instruct_2507.jinja").read_text()
    return tokenizer


def trainer(kind: type[GRPOTrainer], model_dir: Path, tasks: Sequence[Task], folder: Path, **given: Any) -> GRPOTrainer:
    """TRL's trainer on one row a task, two tries each."""
    args = GRPOConfig(
        output_dir=str(folder), per_device_train_batch_size=4, num_generations=2, report_to="none", use_cpu=True,
        bf16=False, seed=1, save_strategy="no", logging_steps=1, disable_tqdm=True, learning_rate=1e-3,
        shuffle_dataset=False, **given,
    )  # fmt: skip
    return kind(
        load_model(model_dir), args=args, train_dataset=Dataset.from_list(trl_rows(WORLDS, tasks)), reward_funcs=[],
        processing_class=stock(model_dir), environment_factory={name: world.factory for name, world in WORLDS.items()},
    )  # fmt: skip


class Golden(GRPOTrainer):
    """Says what `script(text so far)` gives instead of sampling; all else is TRL's."""

    script: Callable[[str], str]
    tokenizer: PreTrainedTokenizerBase

    def _generate_single_turn(self, prompt_ids: list[list[int]], *given: Any, **named: Any) -> tuple[Any, None]:
        said = [self.script(str(self.tokenizer.decode(ids))) for ids in prompt_ids]
        return [self.tokenizer.encode(text, add_special_tokens=False) for text in said], None


def golden(tasks: Sequence[Task]) -> Callable[[str], str]:
    """Makes the next golden call of the task whose question stands in the text; a last word when all are made."""

    def say(text: str) -> str:
        task = next(one for one in tasks if one.question in text)
        made = text.count("<tool_response>")
        if made == len(task.golden_calls):
            return "Done.<|im_end|>"
        call = task.golden_calls[made]
        return f"<tool_call>\n{dumps({'name': call['name'], 'arguments': call['arguments']})}\n</tool_call><|im_end|>"

    return say


def test_a_golden_run_in_trls_tool_loop_earns_everything(model_dir: Path, tasks: list[Task], tmp_path: Path) -> None:
    made = trainer(Golden, model_dir, tasks, tmp_path, max_steps=1, max_completion_length=8192)
    assert isinstance(made, Golden)
    made.script, made.tokenizer = golden(tasks), stock(model_dir)
    made.train()
    log = made.state.log_history[0]
    assert log["rewards/ClaimsEnvironment/mean"] == log["rewards/OrdersEnvironment/mean"] == 1.0
    assert log["tools/call_frequency"] == sum(len(task.golden_calls) for task in tasks) / len(tasks)
    assert log["tools/failure_frequency"] == 0.0


def test_a_model_that_babbles_is_trained_for_two_steps(model_dir: Path, tasks: list[Task], tmp_path: Path) -> None:
    made = trainer(GRPOTrainer, model_dir, tasks, tmp_path, max_steps=2, max_completion_length=16)
    made.train()
    steps = [log for log in made.state.log_history if "loss" in log]
    assert len(steps) == 2
    assert all(isfinite(log["loss"]) and 0 <= log["reward"] < 1 for log in steps)
