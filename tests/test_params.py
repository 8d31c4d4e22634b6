"""What params.yaml may not say: faults that would otherwise be passed over, or end a run hours later."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline.errors import ParamsError
from pipeline.params import parse_params

ROOT = Path(__file__).parents[1]


def refused(**changes: Any) -> str:
    """What is said of the project's own params with values changed; keys are dotted names with `__` for the dots."""
    raw = YAML(typ="safe").load((ROOT / "params.yaml").read_text())
    for name, value in changes.items():
        *parents, last = name.split("__")
        place = raw
        for parent in parents:
            place = place[parent]
        place[last] = value
    with pytest.raises(ParamsError) as caught:
        parse_params(raw)
    return str(caught.value)


def test_shares_and_quotas_name_environments_that_are_practised() -> None:
    said = refused(rl__sampler__mixture={"claims": 1.0, "clams": 2.0})
    assert said == "params.yaml: rl.sampler.mixture names environment 'clams'; there are claims"
    quota = [{"kind": "quota", "most": {"orders": 3}}]
    said = refused(filter__steps=quota, synthesize__pivots={"enabled": True, "max_chars": 10})
    assert "most of a quota in filter.steps names environment 'orders'; there are claims, pivot" in said


def test_a_window_of_the_profile_begins_below_its_end() -> None:
    said = refused(profile__adaptive={"first": 2, "step": 1, "window": [0.9, 0.1]})
    assert "profile.adaptive: window begins at 0.9, above its end 0.1" in said


def test_a_likeness_below_which_pairs_are_not_found_is_refused() -> None:
    steps = [{"kind": "near_duplicate", "similarity": 0.3}]
    assert "filter.steps.0.near_duplicate.similarity: Input should be greater than or equal to 0.5" in refused(
        filter__steps=steps
    )


def test_a_window_too_narrow_to_compute_with_is_refused() -> None:
    assert "rl.sampler.window.sigma" in refused(rl__sampler__window={"start": 0.7, "end": 0.3, "sigma": 1e-200})


def test_entries_of_lists_are_told_by_kind() -> None:
    said = refused(graders=[{"name": "a", "kind": "stat"}])
    assert said == "params.yaml: graders.0.kind: 'stat' is none; did you mean 'state'?"
    assert "graders.0.kind: is missing; it says what this entry is" in refused(graders=[{"name": "a"}])
    assert refused(filter__steps=[{"kind": "nope"}]).startswith("params.yaml: filter.steps.0.kind: 'nope' is none;")


def test_what_an_entry_lacks_no_preset_can_bring() -> None:
    entry = {"name": "a", "kind": "rubric", "judge": {"model": "m"}, "dimensions": [{"name": "b", "question": "c"}]}
    assert refused(graders=[entry]) == "params.yaml: key 'graders.0.rubric.judge.base_url' is missing; add it"


def test_a_faulty_entry_is_not_told_in_the_words_of_the_library() -> None:
    said = refused(graders=[{"name": "a", "kind": "transcript"}])
    assert said == "params.yaml: graders.0.transcript: no limit; give max_turns, max_calls or max_tokens"
