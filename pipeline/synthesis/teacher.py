"""Demonstrations by a teacher: a model behind an API plays train tasks with the environment's own tools.

A run is kept when it ends by itself and its outcome is 1; every other run is counted under a reason. Answers are
remembered, so the stage run again gives the same bytes and asks nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from enum import StrEnum

from pipeline.environments import Environment
from pipeline.environments.tools import EnvironmentFault, call_tool, environments_own, reset_arguments
from pipeline.environments.users import ScriptedUser, User, UserFault
from pipeline.environments.worlds import World, Worlds
from pipeline.graders.reward import outcome, process
from pipeline.harness_hash import harness_hash
from pipeline.records import Demo, Message, Task
from pipeline.remote.chat import Chat
from pipeline.remote.endpoint import TeacherParams
from pipeline.remote.faults import Fault, RemoteFault
from pipeline.remote.memory import Memory
from pipeline.remote.spending import in_order
from pipeline.remote.structured import Asked
from pipeline.remote.wire import Usage, to_wire

AUTHOR = "teacher"


class Reason(StrEnum):
    """What became of a teacher's run, apart from the faults of its answers, which count under their own names."""

    KEPT = "kept"
    """It is a demonstration."""
    FAILED = "failed"
    """Its outcome is below 1."""
    NOT_GRADED = "not_graded"
    """Its outcome is null."""
    MAX_TURNS = "max_turns"
    """It was still going on after `max_turns` answers."""
    ENVIRONMENT_ERROR = "environment_error"
    """The environment broke or did not answer in time."""
    USER_ERROR = "user_error"
    """The simulated user failed."""


@dataclass(frozen=True, slots=True)
class Taught:
    """What a teacher gave: demonstrations in the order of tasks, runs by reason, and the price."""

    demos: tuple[Demo, ...]
    reasons: dict[str, int]
    usage: Usage

    def metrics(self) -> dict[str, int]:
        """Runs by reason, calls and tokens; empty when there was no run."""
        return self.reasons | ({"calls": self.usage.calls, "tokens": self.usage.tokens} if self.reasons else {})


NOTHING = Taught((), {}, Usage())
"""What no teacher gives."""


@dataclass(frozen=True, slots=True)
class _Try:
    """One run; `demo` is there exactly when the reason is KEPT."""

    reason: Reason
    demo: Demo | None = None


def teach(worlds: Worlds, tasks: Iterable[Task], params: TeacherParams, memory: Memory) -> Taught:
    """Have every task played `params.tries` times. Raises EndpointError when there is no teacher at all."""
    with Chat(params, memory) as chat:
        jobs = [
            _Run(worlds[task.environment], task, chat, params, draw).play
            for task in tasks for draw in range(params.tries)
        ]  # fmt: skip
        runs = in_order(jobs, params.budget, params.concurrency)
    reasons = Counter(_reason(run) for run in runs)
    demos = tuple(run.value.demo for run in runs if run.value is not None and run.value.demo is not None)
    return Taught(demos, dict(sorted(reasons.items())), sum((run.usage for run in runs), Usage()))


def _reason(run: Asked[_Try]) -> str:
    return str(run.fault or "") if run.value is None else run.value.reason.value


class _Run:
    """One run of one task."""

    def __init__(self, world: World, task: Task, chat: Chat, params: TeacherParams, draw: int) -> None:
        self._world, self._task, self._chat, self._params, self._draw = world, task, chat, params, draw
        self._spent = Usage()

    def play(self) -> Asked[_Try]:
        """The run from reset to grade."""
        try:
            with ExitStack() as held:
                environment = environments_own(self._world.factory)
                held.callback(environment._release)
                messages, user = self._open(environment)
                ended = self._converse(environment, messages, user)
                found = self._judge(environment, messages) if ended else _Try(Reason.MAX_TURNS)
        except RemoteFault as fault:
            return Asked(None, self._spent, fault.fault, fault.detail)
        except EnvironmentFault:
            found = _Try(Reason.ENVIRONMENT_ERROR)
        except UserFault:
            found = _Try(Reason.USER_ERROR)
        return Asked(found, self._spent)

    def _open(self, environment: Environment) -> tuple[list[Message], User | None]:
        added = environments_own(lambda: environment.reset(**reset_arguments(self._task)))
        opening = [Message("system", self._world.procedure)] if self._world.procedure else []
        script = environment.user
        if script is not None and (missing := script.missing()):
            raise UserFault(f"simulated user: fact {missing!r} has no value in this task")
        user = None if script is None else ScriptedUser(script, self._task.task_id)
        return [*opening, Message("user", self._task.question + (added or ""))], user

    def _converse(self, environment: Environment, messages: list[Message], user: User | None) -> bool:
        """Let `messages` grow until the run has ended by itself; False when `max_turns` came first."""
        for turn in range(self._params.max_turns):
            said = self._ask(messages, turn)
            messages.append(said)
            for call in said.tool_calls:
                answer = call_tool(environment, call, self._params.tool_timeout)
                messages.append(Message("tool", answer.content, tool_call_id=call.id, name=call.name))
            if not said.tool_calls:
                environment.said = said.content or ""
                answered = None if user is None else user.answer(environment.said)
                if answered is None:
                    return True
                messages.append(Message("user", answered))
        return False

    def _ask(self, messages: Sequence[Message], turn: int) -> Message:
        """The teacher's next message, its calls named as those of rollouts are. Raises RemoteFault without one."""
        reply = self._chat.ask(to_wire(messages), tools=self._world.tools, draw=self._draw)
        self._spent += reply.usage
        if reply.fault is not None:
            raise RemoteFault(reply.fault, reply.detail)
        calls = tuple(replace(call, id=f"call_{turn}_{n}") for n, call in enumerate(reply.message.tool_calls))
        if any(call.arguments is None for call in calls):
            raise RemoteFault(Fault.MALFORMED, "a tool call cannot be read")
        return replace(reply.message, content=reply.message.content or (None if calls else ""), tool_calls=calls)

    def _judge(self, environment: Environment, messages: Sequence[Message]) -> _Try:
        environment.transcript += messages[1 + bool(self._world.procedure) :]
        grades = environments_own(environment.grade)
        reached = outcome(grades)
        if reached is None:
            return _Try(Reason.NOT_GRADED)
        if reached < 1.0:
            return _Try(Reason.FAILED)
        tools = self._world.tools
        demo = Demo(self._task.task_id, AUTHOR, tuple(messages), tools, harness_hash(tools), reached, process(grades))
        return _Try(Reason.KEPT, demo)
