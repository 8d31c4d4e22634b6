"""The table at the end of a run."""

from pipeline.comparison import comparison, doubts

METRICS = {
    "models": {
        "rl": {
            "pass_at_1": 0.71,
            "ci_low": 0.66,
            "ci_high": 0.755,
            "pass_at_k": 0.9,
            "pass_hat_k": 0.5,
            "process": 0.8,
            "k": 4,
        },
        "sft": {
            "pass_at_1": 0.5,
            "ci_low": 0.4,
            "ci_high": 0.6,
            "pass_at_k": 0.8,
            "pass_hat_k": None,
            "process": 0.7,
            "k": 4,
        },
    },
    "differences": {"rl_sft": {"mean": 0.21, "ci_low": 0.17, "ci_high": 0.25}},
}


def test_models_stand_in_the_order_of_training_with_their_intervals() -> None:
    lines = comparison(METRICS).splitlines()
    (sft,) = (index for index, line in enumerate(lines) if line.strip().startswith("SFT"))
    assert lines[sft + 1].split() == ["RL", "0.710", "[0.660,", "0.755]", "0.900", "0.500", "0.800"]
    assert lines[sft + 2].strip() == "RL - SFT, paired by task: +21.0 points [+17.0, +25.0]"
    assert "pass^4" in lines[sft - 1]


def test_what_is_missing_is_a_dash_not_a_zero() -> None:
    (line,) = (line for line in comparison(METRICS).splitlines() if line.strip().startswith("SFT"))
    assert line.split() == ["SFT", "0.500", "[0.400,", "0.600]", "0.800", "-", "0.700"]


def test_a_difference_of_nothing_has_no_sign_of_its_own() -> None:
    same = {**METRICS, "differences": {"rl_sft": {"mean": -0.0001, "ci_low": -0.0, "ci_high": 0.0}}}
    assert comparison(same).splitlines()[-1].strip() == "RL - SFT, paired by task: +0.0 points [+0.0, +0.0]"


def test_a_model_that_no_step_made_better_is_named() -> None:
    [rft] = doubts({}, {"rft": {"best_step": 0}, "rl": {"best_step": 4}})
    assert rft.startswith("rejection sampling is the SFT model: no step of it was better on valid")


def test_an_unfinished_sft_model_is_named() -> None:
    [hint] = doubts({}, {"sft": {"unfinished": True}})
    assert hint.startswith("SFT was not finished: ")
    assert "sft.epochs" in hint
    assert doubts({}, {"sft": {"unfinished": False}}) == []


def test_what_is_learnt_of_train_alone_is_told() -> None:
    stages = {"profile": {"success_rate": 0.5}}
    [gap] = doubts({"sft": {"pass_at_1": 0.02}}, stages)
    assert gap.startswith("SFT solves 50% of the train tasks and 2% of the valid ones")
    assert doubts({"sft": {"pass_at_1": 0.3}}, stages) == []
    assert doubts({"sft": {"pass_at_1": None}}, stages) == []
