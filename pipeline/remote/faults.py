"""What can be wrong with a remote answer, each kind under a name that ends up as the reason of a null."""

from enum import StrEnum

from pipeline.errors import RehearsalError


class Fault(StrEnum):
    """Why an answer could not be had."""

    UNREACHABLE = "unreachable"
    """No connection, or it broke off."""
    TIMEOUT = "timeout"
    """No whole answer in time."""
    BUSY = "busy"
    """The server kept asking to come back later (429)."""
    SERVER_ERROR = "server_error"
    """The server failed, or answered with something that is no chat completion."""
    REJECTED = "rejected"
    """The server refuses this one request, for example because it is too long."""
    REFUSED = "refused"
    """The model or a filter declines to answer."""
    EMPTY = "empty"
    """The model answered with nothing."""
    TRUNCATED = "truncated"
    """The answer reached `max_tokens`."""
    MALFORMED = "malformed"
    """The answer does not have the form asked for, after all repairs."""
    OVER_BUDGET = "over_budget"
    """The budget was spent before its turn came."""


class RemoteFault(RehearsalError, RuntimeError):
    """One answer could not be had; whatever hangs on it is null."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(f"{fault.value}: {detail}")
        self.fault = fault
        self.detail = detail


class EndpointError(RehearsalError, RuntimeError):
    """The endpoint as a whole cannot be used: wrong address, key or model, or down for long. Ends the stage."""
