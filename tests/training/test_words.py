import pytest
from transformers import PreTrainedTokenizerFast

from pipeline.training.tiny import build_tokenizer
from pipeline.training.words import Speller, frequent_words, questions, words_of

PHRASES = ("Please settle claim C-{}.", "What about claim C-{}? It waits.", "Decide on C-{}, please.")


def episode(number: int) -> str:
    asked = PHRASES[number % 3].format(1000 + number)
    return (
        "<|im_start|>system\nYou settle claims. Read the claim first.<|im_end|>\n"
        f"<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\n<tool_call>read C-{1000 + number}<|im_end|>\n"
        "<|im_start|>user\n<tool_response>\nthe claim is open\n</tool_response><|im_end|>\n"
    )


EPISODES = [episode(number) for number in range(60)]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return build_tokenizer(EPISODES, 4000, spells=True)


def tokens(tokenizer: PreTrainedTokenizerFast, asked: str) -> list[str]:
    numbers = tokenizer.encode(f"<|im_start|>user\n{asked}<|im_end|>")
    return [str(tokenizer.decode([number])) for number in numbers][2:-1]


def test_what_the_user_says_is_told_from_what_tools_answer() -> None:
    assert questions(EPISODES[0]) == ["Please settle claim C-1000."]
    assert words_of(["Don't pay C-12 for police_report."]) == {"Don't", "pay", "C-", "for", "police_report"}


def test_words_of_few_questions_are_not_frequent() -> None:
    once = EPISODES[0].replace("Please settle", "Kindly settle")
    assert "Kindly" not in frequent_words([once, *EPISODES], 1)
    assert frequent_words(EPISODES, 1)[:3] == ["Decide", "Please", "please"]


def test_a_known_word_is_one_token_wherever_it_stands(tokenizer: PreTrainedTokenizerFast) -> None:
    assert tokens(tokenizer, "Please settle C-12, please.") == [
        "Please ", "settle ", "C-", "1", "2", ", ", "please", ".",
    ]  # fmt: skip
    assert tokens(tokenizer, "C-12 waits.")[:3] == ["C-", "1", "2"]


def test_an_unknown_word_is_spelled(tokenizer: PreTrainedTokenizerFast) -> None:
    assert tokens(tokenizer, "claims C-1!") == [*"claims", " ", "C-", "1", "!"]


def test_all_other_text_is_merged_across_words(tokenizer: PreTrainedTokenizerFast) -> None:
    assert len(tokenizer.encode("<|im_start|>system\nYou settle claims. Read the claim first.<|im_end|>")) == 3
    assert len(tokenizer.encode("<|im_start|>user\n<tool_response>\nthe claim is open\n</tool_response>")) == 2


def test_words_change_places_and_the_agents_tokens_stay(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = tokenizer.encode(EPISODES[0])
    asked = questions(EPISODES[0])[0]
    place = ids.index(tokenizer.encode("<|im_start|>assistant\n")[-1])
    mask = [int(number > place) for number in range(len(ids))]
    speller = Speller(tokenizer, 1)
    rows = [speller(ids, mask) for _ in range(40)]
    spelled = [row for row in rows if row[0] != ids]
    assert 0 < len(spelled) < 30
    texts = [str(tokenizer.decode(row_ids)) for row_ids, _ in spelled]
    assert len({questions(text)[0] for text in texts}) > 5
    assert all(sorted(questions(text)[0].split()) == sorted(asked.split()) for text in texts)
    assert all(text.replace(questions(text)[0], asked) == EPISODES[0] for text in texts)
    assert all(sum(row_mask) == sum(mask) and len(row_ids) == len(row_mask) for row_ids, row_mask in spelled)
    assert all(row_ids[-1 - sum(mask) :] == ids[-1 - sum(mask) :] for row_ids, _ in spelled)


def test_nothing_is_spelled_where_all_words_are_known() -> None:
    tokenizer = build_tokenizer(EPISODES, 4000)
    ids = tokenizer.encode(EPISODES[0])
    speller = Speller(tokenizer, 1)
    assert all(speller(ids, [0] * len(ids)) == (ids, [0] * len(ids)) for _ in range(20))
