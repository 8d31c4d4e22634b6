"""A real OpenEnv server for tests, run by the Python that has `openenv`: `python openenv_server.py tools|actions PORT`.

The game: find a number from 1 to 20. A right guess ends the episode with reward 1; hints cost nothing.
"""

import sys
from typing import Any

import uvicorn
from fastmcp import FastMCP
from openenv.core.env_server import Action, Environment, MCPEnvironment, Observation, State, create_app
from pydantic import Field

HIGHEST = 20
SESSIONS = 3


class Guess(Action):
    """One guess."""

    number: int = Field(ge=1, le=HIGHEST, description="The number you think it is.")


class Hint(Observation):
    """What a guess is answered."""

    text: str


class NumberByActions(Environment[Guess, Hint, State]):
    """Takes guesses as actions."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self.secret, self.steps = 0, 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Hint:
        self.secret, self.steps = (seed or 0) % HIGHEST + 1, 0
        if kwargs.get("broken"):
            raise RuntimeError("the table of numbers is gone")
        return Hint(text=f"Find the number from 1 to {HIGHEST}.")

    def step(self, action: Guess, timeout_s: float | None = None, **kwargs: Any) -> Hint:
        self.steps += 1
        if action.number == self.secret:
            return Hint(text="right", done=True, reward=1.0)
        return Hint(text="higher" if action.number < self.secret else "lower", reward=0.0)

    @property
    def state(self) -> State:
        return State(step_count=self.steps)


class NumberByTools(MCPEnvironment):
    """Takes guesses as calls of a tool."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        server: FastMCP[Any] = FastMCP("number")
        self.secret, self.right = 0, False

        @server.tool
        def compare(number: int) -> str:
            """Compare a number with the secret one."""
            if not 1 <= number <= HIGHEST:
                raise ValueError(f"{number} is not from 1 to {HIGHEST}")
            return "equal" if number == self.secret else "higher" if number < self.secret else "lower"

        @server.tool
        def submit(number: int) -> str:
            """Say which number it is; ends the episode."""
            self.right = number == self.secret
            return "noted"

        super().__init__(server)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Observation:
        self.secret, self.right = (seed or 0) % HIGHEST + 1, False
        return Observation(done=False, metadata={"ready": True})

    def _scored(self, action: Any, seen: Observation) -> Observation:
        if getattr(action, "tool_name", "") == "submit":
            seen.done, seen.reward = True, float(self.right)
        return seen

    def step(self, action: Any, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        return self._scored(action, super().step(action, timeout_s=timeout_s, **kwargs))

    async def step_async(self, action: Any, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        return self._scored(action, await super().step_async(action, timeout_s=timeout_s, **kwargs))

    def _step_impl(self, action: Any, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        return Observation(done=False, reward=None)

    @property
    def state(self) -> State:
        return State()


def main(style: str, port: int) -> None:
    """Serve until killed."""
    if style == "tools":
        app = create_app(NumberByTools, Action, Observation, env_name="number", max_concurrent_envs=SESSIONS)
    else:
        app = create_app(NumberByActions, Guess, Hint, env_name="number", max_concurrent_envs=SESSIONS)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
