"""Why a trace or demonstration is imitated or not, in the order in which the questions are asked."""

from enum import StrEnum


class Reason(StrEnum):
    """The first that applies stands; KEPT when none does."""

    KEPT = "kept"
    """Imitated: it became a row."""
    NOT_A_SOURCE = "not_a_source"
    """`curate.mixture` gives its format, author or origin the weight 0."""
    OTHER_HARNESS = "other_harness"
    """Made with other tools than the environments and pivot tasks have, and `curate.harness` is `same`."""
    ERROR_STATUS = "error_status"
    """The infrastructure failed, so its reward says nothing."""
    NO_REWARD = "no_reward"
    """Nobody said how well it went; not the same as a failure."""
    FAILED = "failed"
    """Below `curate.success.at`, and `curate.failed` does not say otherwise or finds no turn before a fault."""
    HELD_OUT = "held_out"
    """It touches a valid or eval task: its task, question, solution or a case of its state, or the time after it."""
    NO_AGENT_TURN = "no_agent_turn"
    """The agent says nothing in it that may be trained on."""
    EMPTY_TURN = "empty_turn"
    """A turn of the agent has neither text nor calls."""
    UNREADABLE_CALL = "unreadable_call"
    """The arguments of a tool call could not be parsed."""
    DANGLING_CALL = "dangling_call"
    """A tool call in the middle has no answer, or an answer has no call."""
    NOT_RENDERABLE = "not_renderable"
    """The base model's chat template refuses it or cannot mark the agent's tokens."""
    TOO_LONG = "too_long"
    """More than `curate.max_tokens` tokens of the base model."""
    DUPLICATE = "duplicate"
    """The model would see exactly the tokens of an earlier row."""
    NEAR_DUPLICATE = "near_duplicate"
    """Its words and calls are those of an earlier row but for a little, see `curate.near_duplicates`."""
    MIXTURE = "mixture"
    """Not drawn: `curate.mixture` takes only a part of its source."""


REMEDIES: dict[Reason, str] = {
    Reason.NOT_A_SOURCE: "raise the weight of their origin in curate.mixture",
    Reason.OTHER_HARNESS: "set curate.harness to any, or raise synthesize.demos",
    Reason.ERROR_STATUS: "bring traces of runs that ended",
    Reason.NO_REWARD: "bring traces with a reward, name a score of theirs in curate.success, or raise synthesize.demos",
    Reason.FAILED: "lower curate.success.at, see curate.failed, or bring successful traces",
    Reason.HELD_OUT: "bring traces of other cases than those of data/tasks/valid.parquet and eval.parquet",
    Reason.NO_AGENT_TURN: "bring traces in which the agent speaks",
    Reason.EMPTY_TURN: "bring traces whose agent turns hold text or calls",
    Reason.UNREADABLE_CALL: "mend the calls in data/raw",
    Reason.DANGLING_CALL: "bring traces whose tool calls have answers",
    Reason.NOT_RENDERABLE: "choose a base.model whose chat template renders tool calls",
    Reason.TOO_LONG: "raise curate.max_tokens",
    Reason.DUPLICATE: "raise the weights of curate.mixture",
    Reason.NEAR_DUPLICATE: "raise the weights of curate.mixture",
    Reason.MIXTURE: "raise the weights of curate.mixture",
}
"""What helps when a reason leaves nothing to imitate."""
