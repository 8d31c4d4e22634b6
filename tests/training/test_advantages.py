from statistics import pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.training.advantages import group_advantages, normalise_by_environment, spread


def test_group_scale_divides_by_the_population_std_of_the_group() -> None:
    assert group_advantages([1.0, 0.0, 0.0, 0.0], "group") == pytest.approx(
        [0.75 / (0.1875**0.5 + 1e-4)] + [-0.25 / (0.1875**0.5 + 1e-4)] * 3
    )


def test_centred_scale_leaves_the_std_out() -> None:
    assert group_advantages([1.0, 0.0, 0.0, 0.0], "centred") == [0.75, -0.25, -0.25, -0.25]


@pytest.mark.parametrize("scale", ["group", "centred"])
def test_a_null_reward_takes_no_part(scale: str) -> None:
    with_null = group_advantages([1.0, None, 0.0], scale)  # type: ignore[arg-type]
    without = group_advantages([1.0, 0.0], scale)  # type: ignore[arg-type]
    assert with_null == [without[0], None, without[1]]
    assert group_advantages([None, None], scale) == [None, None]  # type: ignore[arg-type]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=16))
def test_a_group_sums_to_zero(rewards: list[float]) -> None:
    known = [value for value in group_advantages(rewards, "centred") if value is not None]
    assert sum(known) == pytest.approx(0, abs=1e-9)


def test_spread_is_that_of_the_whole_group_and_ignores_nulls() -> None:
    assert spread([1.0, 0.0, 0.0, 0.0]) == pytest.approx(pstdev([1, 0, 0, 0]))
    assert spread([0.5, None, 0.5]) == 0
    assert spread([None]) is None


def test_normalising_by_environment_whitens_over_action_tokens() -> None:
    advantages, names, tokens = [1.0, -1.0, 5.0, 1.0], ["a", "a", "b", "b"], [3, 1, 2, 2]
    normalised = normalise_by_environment(advantages, names, tokens)
    for name in ("a", "b"):
        flat = [
            value
            for value, own, count in zip(normalised, names, tokens, strict=True)
            if own == name
            for _ in range(count)
        ]
        assert sum(flat) == pytest.approx(0, abs=1e-9)
        assert pstdev(flat) == pytest.approx(1, abs=1e-5)
