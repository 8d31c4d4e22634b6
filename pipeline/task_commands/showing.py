"""What the `tasks` commands print. Text of tasks and models is data: nothing in it is markup or a control sequence."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.grader_params import RewardParams
from pipeline.graders.reward import rewards, success
from pipeline.records import Message, Rollout, Task
from pipeline.rows import Row
from pipeline.selection.reasons import Reason
from pipeline.synthesis.drafting.writing import shown
from pipeline.task_commands.finding import Found
from pipeline.terminal import print_framed

WHY = {
    Reason.SIGNAL: "no step of filter.steps objects",
    Reason.SOLVED_SHARE: "always solved, but drawn by filter.keep_solved",
    Reason.TOO_FEW_VALID: "too few of its tries have a reward or an outcome",
    Reason.NO_SPREAD: "its rewards are all equal, so every advantage would be zero",
    Reason.LOW_SPREAD: "other groups have more spread, and only a share is kept",
    Reason.BELOW_WINDOW: "its pass rate lies below the window",
    Reason.ABOVE_WINDOW: "its pass rate lies above the window",
    Reason.NEVER_SOLVED: "no try solves it; it may be broken",
    Reason.GOLDEN_FAILS: "its golden calls no longer earn the full outcome",
    Reason.TOO_LONG: "its episodes are too long, or cut too often",
    Reason.NEAR_DUPLICATE: "a kept task says nearly the same",
    Reason.OVER_QUOTA: "its environment has as many tasks as its quota allows",
}
_NUMBERS = ("pass_rate", "reward_mean", "reward_std", "reward_var", "pass_hat_k", "turns_mean", "tokens_mean")


def show_task(console: Console, found: Found, rule: RewardParams) -> None:
    """A task, the verdict on it, and its tries."""
    _show_facts(console, found.task)
    if found.group is None:
        console.print(Text("not judged: it is not among the profiled tasks, or `filter` has not run", style="yellow"))
    else:
        _show_verdict(console, found.group)
    if found.tries:
        console.print(_tries(found.tries, rule))
    else:
        console.print(Text("not profiled: no try of it is in data/profile/rollouts.parquet", style="yellow"))


def show_try(console: Console, rollout: Rollout) -> None:
    """One try as a conversation, and its grades with their reasons."""
    for turn in rollout.turns:
        _show_message(console, turn.message)
        for result in turn.tool_results:
            _show_message(console, result)
    table = _table("grade", "turn", "score", "reason")
    for grade in rollout.grades:
        score = "none" if grade.score is None else f"{grade.score:.3f}"
        place = "" if grade.turn is None else str(grade.turn + 1)
        table.add_row(_text(grade.name), place, score, _text(grade.reason))
    console.print(table)


def show_groups(console: Console, groups: pl.DataFrame, most: int) -> None:
    """One line a group, and how many there are of each reason."""
    table = _table("task", "environment", "template", "solved", "spread", "verdict", "reason")
    for row in groups.head(most).iter_rows(named=True):
        table.add_row(
            _text(row["task_id"]), _text(row["environment"]), _text(row["template"]),
            f"{row['successes']} of {row['graded']}", _number(row["reward_std"]), row["verdict"], row["reason"],
        )  # fmt: skip
    console.print(table)
    counts = groups.group_by("reason").len().sort("len", "reason", descending=[True, False])
    said = ", ".join(f"{count} {reason}" for reason, count in counts.iter_rows())
    console.print(Text(f"{min(most, groups.height)} of {groups.height} groups shown: {said or 'none'}"))


def show_comparison(console: Console, facts: Mapping[str, Any]) -> None:
    """Names and values."""
    table = _table("", "")
    for name, value in facts.items():
        table.add_row(name, _text(value))
    console.print(table)


def _show_facts(console: Console, task: Task) -> None:
    knobs = ", ".join(f"{name} {value}" for name, value in task.knobs.items())
    console.print(Text(f"task {task.task_id}", style="bold"))
    console.print(
        _text(f"{task.environment}, template {task.template}, split {task.split}" + f"; {knobs}" * bool(knobs))
    )
    print_framed(console, "question", _text(task.question))
    for call in task.golden_calls:
        console.print(_text(f"  golden > {call.get('name')} {json.dumps(call.get('arguments'), ensure_ascii=False)}"))


def _show_verdict(console: Console, group: Row) -> None:
    kept = group["verdict"] == "kept"
    console.print(Text(f"{group['verdict']}: {WHY[Reason(group['reason'])]}", style="green" if kept else "red"))
    told = [f"{name.replace('_', ' ')} {_number(group[name])}" for name in _NUMBERS]
    told.insert(1, f"95 % interval {group['pass_low']:.2f} to {group['pass_high']:.2f}")
    console.print(Text(f"{group['valid']} of {group['tries']} tries have a reward; " + ", ".join(told)))
    spreads = json.loads(group["grade_stds"])
    console.print(
        _text("spread of each grade: " + ", ".join(f"{name} {_number(std)}" for name, std in spreads.items()))
    )
    if group["stopped_early"]:
        console.print(Text("tried less often than others: its pass rate and spread are biased", style="yellow"))


def _tries(tries: Iterable[Rollout], rule: RewardParams) -> Table:
    made = list(tries)
    earned = rewards([one.grades for one in made], rule)
    names = sorted({grade.name for one in made for grade in one.grades if grade.turn is None})
    table = _table("try", "model", "ended", "turns", "tokens", "solved", "reward", *map(shown, names))
    for one, reward in zip(made, earned, strict=True):
        solved = success(one.grades, rule.success_at)
        scores = {grade.name: grade.score for grade in reversed(one.grades) if grade.turn is None}
        table.add_row(
            str(one.try_index), _text(one.model), one.stop_reason.value, str(len(one.turns)),
            str(sum(len(turn.token_ids) for turn in one.turns)), {None: "unknown", True: "yes", False: "no"}[solved],
            _number(reward), *(_number(scores.get(name)) for name in names),
        )  # fmt: skip
    return table


def _show_message(console: Console, message: Message) -> None:
    style = {"assistant": "cyan", "user": "bold"}.get(message.role, "")
    for said in (message.reasoning, message.content):
        if said:
            console.print(_text(f"{message.role}: {said}", style))
    for call in message.tool_calls:
        given = call.raw_arguments if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
        console.print(_text(f"  > {call.name} {given}", style))


def _text(value: object, style: str = "") -> Text:
    return Text(shown(str(value)), style=style)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}".rstrip("0").rstrip(".")


def _table(*headers: str) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for header in headers:
        table.add_column(Text(header), overflow="fold")
    return table
