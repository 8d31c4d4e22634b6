"""Whether a conversation has the shape that a chat template can render and an agent could have sampled."""

from collections.abc import Sequence

from pipeline.curation.reasons import Reason
from pipeline.records import Message


def fault(messages: Sequence[Message]) -> Reason | None:
    """The first reason that keeps a conversation out of training, None when there is none.

    Calls of the last message need no answer: a call may end a run.
    """
    said = [message for message in messages if message.role == "assistant"]
    if not any(message.trainable for message in said):
        return Reason.NO_AGENT_TURN
    if any(not message.content and not message.tool_calls for message in said):
        return Reason.EMPTY_TURN
    if any(call.arguments is None for message in said for call in message.tool_calls):
        return Reason.UNREADABLE_CALL
    return None if _answered(messages) else Reason.DANGLING_CALL


def _answered(messages: Sequence[Message]) -> bool:
    open_calls: list[str] = []
    for message in messages:
        if message.role == "tool":
            if not open_calls:
                return False
            wanted = message.tool_call_id if message.tool_call_id in open_calls else None
            if wanted is None and message.tool_call_id is not None:
                return False
            open_calls.remove(wanted or open_calls[0])
        elif open_calls:
            return False
        else:
            open_calls = [call.id for call in message.tool_calls]
    return not open_calls or bool(messages[-1].tool_calls)
