from pathlib import Path

import pytest
import torch
from transformers import PreTrainedTokenizerBase

from pipeline.errors import ModelError
from pipeline.rollouts.harness import Harness
from pipeline.training.loading import load_model, load_tokenizer
from pipeline.training.tiny import build_tokenizer
from tests.training.conversations import TOOLS, conversation
from tests.training.tiny import SHAPE, make, texts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("tiny") / "base")


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    return load_tokenizer(folder)


def test_equal_inputs_give_equal_bytes(folder: Path, tmp_path: Path) -> None:
    again = make(tmp_path / "again")
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(path.name for path in again.iterdir())
    assert all((folder / name).read_bytes() == (again / name).read_bytes() for name in names)


def test_another_seed_gives_other_weights_and_the_same_tokenizer(folder: Path, tmp_path: Path) -> None:
    other = make(tmp_path / "other", seed=2)
    assert (folder / "tokenizer.json").read_bytes() == (other / "tokenizer.json").read_bytes()
    assert (folder / "model.safetensors").read_bytes() != (other / "model.safetensors").read_bytes()


def test_building_leaves_the_global_random_state_alone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    make(tmp_path / "model")
    assert torch.equal(before, torch.get_rng_state())


def test_ids_and_amounts_are_read_digit_by_digit(tokenizer: PreTrainedTokenizerBase) -> None:
    tokens = [tokenizer.decode([token]) for token in tokenizer.encode("claim C-1037, claimed 555")]
    assert [token for token in tokens if any(letter.isdigit() for letter in token)] == list("1037555")


def test_any_text_comes_back_as_it_was(tokenizer: PreTrainedTokenizerBase) -> None:
    text = 'ümlaut, 日本, 🙂, "quoted"\n\ttab  12'
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_fixed_text_costs_few_tokens(tokenizer: PreTrainedTokenizerBase) -> None:
    text = texts(1)[0]
    assert len(text) / len(tokenizer.encode(text)) > 8


def test_the_generation_prompt_is_a_prefix_of_the_episode(folder: Path) -> None:
    harness = Harness.load(folder, TOOLS)
    ids, mask = harness.encode(conversation(7))
    prompt = harness.prompt_ids(conversation(7)[0].content or "")
    assert ids[: len(prompt)] == prompt
    assert mask.index(1) == len(prompt)


def test_the_model_knows_how_to_end_a_turn(folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    model = load_model(folder)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert (model.config.eos_token_id, tokenizer.eos_token_id) == (end, end)
    assert model.generation_config is not None
    assert (model.generation_config.eos_token_id, model.generation_config.top_k) == (end, 0)
    assert model.config.vocab_size == len(tokenizer)


def test_a_vocabulary_without_room_for_bytes_is_refused() -> None:
    with pytest.raises(ModelError, match=r"base.vocab_size is 100; it needs at least 259"):
        build_tokenizer((), 100)


def test_the_shape_is_that_of_params(folder: Path) -> None:
    config = load_model(folder).config
    assert (config.model_type, config.num_hidden_layers, config.num_key_value_heads) == ("qwen3", SHAPE.layers, 2)
    assert config.tie_word_embeddings


def test_fixed_text_of_a_kind_that_is_one_of_many_becomes_tokens() -> None:
    """Eleven kinds of episodes with a sentence of their own each: none stands in a tenth of all texts."""
    rules = [f"Rule {chr(97 + n) * 3}: nobody may {chr(110 + n % 5) * 4} before noon." for n in range(11)]
    corpus = [f"{rule} Case {case}." for rule in rules for case in range(1000, 1020)]
    apart, together = build_tokenizer(corpus, 4000, kinds=11), build_tokenizer(corpus, 4000)
    assert all(len(apart.encode(rule)) < len(together.encode(rule)) for rule in rules)
