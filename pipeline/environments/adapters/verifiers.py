"""Tasksets of the library `verifiers` (0.4): their tools, their rewards, our episodes.

What a taskset says about a task is used: its prompt, `setup`, toolsets, `finalize`, rewards and judges. What runs an
agent there is not: harnesses, runtimes other than this machine, agents that play the user, `@stop` and `@intercept`. A
task that needs one of these is refused. What a tool raises is told to the agent, as the library has it; what `setup`,
`finalize` and scoring raise, and a server that is gone, is the environment's fault.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pipeline.environments.adapters.files import VerifiersFile, read_file
from pipeline.environments.base import Environment
from pipeline.environments.event_loop import wait_for
from pipeline.environments.tools import EnvironmentFault
from pipeline.errors import InputError, ToolError
from pipeline.graders.reward import OUTCOME
from pipeline.records import Grade, JsonObject

if TYPE_CHECKING:
    from pipeline.environments.adapters.verifiers_run import Named, Run


class VerifiersEnvironment(Environment):
    """One rollout of a taskset's task. There is no state to compare, so its hash is empty."""

    gives = ((OUTCOME, "outcome"),)
    file: ClassVar[VerifiersFile]
    named: "ClassVar[Named]"

    def __init__(self) -> None:
        super().__init__()
        self._run: Run | None = None
        self._scored: tuple[Grade, ...] = ()

    def reset(self, **task: Any) -> str | None:
        """Set a task up from its own data, which is the `initial_state`."""
        self._release()
        self.refused, self._scored = 0, ()
        self._question = str(task["question"])
        self._run = wait_for(self.named.open(task["initial_state"]), self.file.timeout)
        return None

    def _tool(self, name: str) -> Callable[..., str]:
        return partial(self._call, name)

    def _call(self, tool: str, /, **arguments: Any) -> str:
        said, refused = wait_for(self._running().call(tool, arguments))
        if refused:
            raise ToolError(said)
        return said

    def _grade(self) -> tuple[Grade, ...]:
        """The weighted sum of the task's rewards, once; null where the library could not score one."""
        if not self._scored:
            work = self._running().score(self.procedure, self._question, self.transcript)
            try:
                value, reason = wait_for(work, self.file.timeout)
            except TimeoutError as error:
                raise EnvironmentFault(f"scoring: no result within {self.file.timeout} s", timed_out=True) from error
            self._scored = (Grade(OUTCOME, "outcome", value, None if value is None else value >= 1.0, reason=reason),)
        return self._scored

    def _running(self) -> "Run":
        if self._run is None:
            raise EnvironmentFault("the episode has not been started, or is over")
        return self._run

    def _release(self) -> None:
        if self._run is not None:
            run, self._run = self._run, None
            wait_for(run.close())

    def _state(self) -> JsonObject:
        return {}

    def _hash(self) -> str:
        return ""


def load_verifiers(path: Path) -> type[VerifiersEnvironment]:
    """The environment that `NAME.verifiers.yaml` names. Raises InputError when it cannot be had or played here."""
    file = read_file(path, VerifiersFile)
    named = _named(path, file)
    members = {"file": file, "named": named, "schemas": named.schemas(), "procedure": file.procedure}
    return type("Verifiers", (VerifiersEnvironment,), members)


def taskset_rows(path: Path) -> Iterator[JsonObject]:
    """The taskset's tasks as rows of `NAME.jsonl`: question, and the task's own data. Raises InputError."""
    file = read_file(path, VerifiersFile)
    named = _named(path, file)
    for question, data in islice(named.tasks(), file.limit):
        yield {"question": question, "initial_state": data}


def _named(path: Path, file: VerifiersFile) -> "Named":
    try:
        # The library is an extra; only this module's sibling imports it.
        from pipeline.environments.adapters.verifiers_run import name_taskset
    except ModuleNotFoundError as error:
        raise InputError(
            f"{path}: needs the library verifiers ({error}); install it by "
            "`pip install -c requirements.lock '.[verifiers]'`"
        ) from error
    return name_taskset(str(path), file)
