"""Profiles of further models, and two profiles side by side."""

import re
from pathlib import Path
from statistics import fmean

import polars as pl

from pipeline.errors import InputError
from pipeline.evaluation.intervals import Bootstrap, bootstrap_mean
from pipeline.params import Params
from pipeline.records import ROLLOUTS
from pipeline.selection.comparing import compare, moves
from pipeline.selection.groups import group_stats
from pipeline.tables import check_parquet, whole_file

_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]*")
_SHARD = re.compile("([1-9][0-9]{0,4})/([1-9][0-9]{0,4})")


def profile_model(params: Params, model: Path, shard: str | None) -> str:
    """Profile a model of any folder beside the stage's own; what was done, in a line.

    Raises InputError for a folder that is not there or cannot name a file, and for a share that is none.
    """
    # Here and not above: torch takes long to load.
    from pipeline.rollouts.pool import Shard
    from pipeline.stages.profile import MODEL, profile, profile_shard

    if not model.is_dir() or not _NAME.fullmatch(model.name):
        raise InputError(f"{str(model)!r} is not a model's folder with a plain name; give one such as models/rl")
    if shard is not None:
        match = _SHARD.fullmatch(shard)
        if match is None or int(match[1]) > int(match[2]):
            raise InputError(f"--shard is {shard!r}; say which share of how many, such as 2/4")
        count = profile_shard(params, model, Shard(int(match[1]), int(match[2])))
        return f"profile    {count} rollouts of share {shard} are ready under .work"
    if model == MODEL:
        raise InputError(f"the stage itself profiles {MODEL}; run `dvc repro profile`, or give --shard")
    out = Path(f"data/profile/{model.name}.parquet")
    summary = profile(params, model, out, Path(f"metrics/profile-{model.name}.json"))
    return f"profile    {out}: success rate {summary['success_rate']:.3f} of {summary['rollouts']} rollouts"


def compare_profiles(params: Params, before: Path, after: Path, out: Path | None) -> dict[str, str]:
    """What two profiles say of the tasks that they share. Raises InputError when they share none."""
    groups = [_groups(params, path) for path in (before, after)]
    both = compare(*groups)
    if both.is_empty():
        raise InputError(
            f"{before} and {after} share no task that both measured whole: the same tasks, with outcomes, and with "
            f"profile.tries tries each, which params.yaml sets to {params.profile.tries}"
        )
    if out is not None:
        with whole_file(out, "w") as stream:
            stream.write(both.write_csv())
    how = Bootstrap(params.evaluate.bootstrap, params.evaluate.confidence, params.seed)
    found = bootstrap_mean(both["difference"].to_numpy(), how)
    rates = [fmean(both[side].to_list()) for side in ("before", "after")]
    alone = [one.height - both.height for one in groups]
    return {
        "tasks compared": str(both.height),
        "tasks left out": f"{alone[0]} of the first, {alone[1]} of the second: not in both, null, or stopped early",
        "mean pass rate": f"{rates[0]:.3f} before, {rates[1]:.3f} after",
        "difference": f"{found.mean:+.3f}, paired by task; {100 * how.confidence:.0f} % interval {found.low:+.3f} to "
        f"{found.high:+.3f}",
    } | {name: str(count) for name, count in moves(both).items()}


def _groups(params: Params, path: Path) -> pl.DataFrame:
    check_parquet(path, ROLLOUTS)
    return group_stats(pl.scan_parquet(path), params.reward, k=params.evaluate.k, tries=params.profile.tries)
