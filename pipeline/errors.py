"""Every error that Rehearsal raises on purpose.

One hierarchy: catch `RehearsalError` to catch them all. Each class is also the standard exception a Python reader
would expect, so that plain code needs no import from here. A message says what is wrong, where, and what to do.
"""


class RehearsalError(Exception):
    """Root of all deliberate errors; the command line prints its message as one line and exits with 1."""


class ParamsError(RehearsalError, ValueError):
    """A key or value in params.yaml is wrong."""


class InputError(RehearsalError, ValueError):
    """A file that a stage reads is missing, broken or of the wrong schema."""


class SpecError(RehearsalError, ValueError):
    """A declared environment is wrong; the message names file, line and column."""


class EmptyOutputError(RehearsalError, ValueError):
    """A stage would have written nothing."""


class TraceError(RehearsalError, ValueError):
    """One record of a trace file cannot be read; carries what a quarantine row needs."""

    def __init__(self, reason: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.field = field
        self.message = message


class MaskError(RehearsalError, ValueError):
    """A chat template yields an empty or broken mask of the agent's tokens."""


class ModelError(RehearsalError, RuntimeError):
    """A model or tokenizer cannot be loaded or does not fit its use."""


class ResumeError(RehearsalError, RuntimeError):
    """A checkpoint belongs to other inputs than those at hand."""


class WorkspaceError(RehearsalError, RuntimeError):
    """The workspace (git, DVC, locks, servers) is not in a usable state."""


class ToolError(RehearsalError, ValueError):
    """A tool refuses a call: the agent's own doing, returned to it as the tool's answer and scored."""


class GraderFault(RehearsalError, RuntimeError):
    """A grade that could not be had: it stays null, and the message is its reason."""
