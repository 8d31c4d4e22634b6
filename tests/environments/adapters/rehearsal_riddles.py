"""A real taskset of `verifiers` for tests: a word stands on one of some pages; look pages up and say the word.

Run as a program, its toolset serves itself over HTTP, as the library does it.
"""

import asyncio
from collections.abc import Iterable

import verifiers.v1 as vf
from pydantic import Field

__all__ = ["RiddleTaskset"]


class RiddleData(vf.TaskData):
    """The pages, and the word that is right."""

    pages: list[str]
    answer: str


class RiddleState(vf.State):
    """What the tools and the task share."""

    seen: list[int] = Field(default_factory=list)
    pages: list[str] = Field(default_factory=list)


class RiddleToolset(vf.Toolset[vf.ToolsetConfig, RiddleState]):
    """Looks pages up."""

    TOOL_PREFIX = "book"

    async def setup_task(self, task: RiddleData) -> None:
        """Learn how many pages there are."""
        self.count = len(task.pages)

    @vf.tool
    def page(self, number: int) -> str:
        """Read a page."""
        if not 0 <= number < self.count:
            raise ValueError(f"there is no page {number}")
        self.state.seen = [*self.state.seen, number]
        return self.state.pages[number]

    @vf.tool
    async def sleep(self, seconds: float) -> str:
        """Take a nap."""
        await asyncio.sleep(seconds)
        return "rested"


class DictionaryToolset(vf.Toolset[vf.ToolsetConfig]):
    """Knows words; holds no state, so that it can be served anywhere."""

    TOOL_PREFIX = None

    @vf.tool(name="define")
    def say(self, word: str) -> str:
        """Say what a word means."""
        if word == "riddle":
            raise ValueError("that would be telling")
        return f"{word}: a word of {len(word)} letters"


class RiddleTaskConfig(vf.TaskConfig):
    """Where the tools are."""

    book: vf.ToolsetConfig = vf.ToolsetConfig()
    dictionary: vf.ToolsetConfig = vf.ToolsetConfig()
    break_scoring: bool = False


class RiddleTask(vf.Task[RiddleData, RiddleState, RiddleTaskConfig]):
    """Graded by the last reply, and by the pages read."""

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Lay the pages out."""
        if not self.data.pages:
            raise OSError("the book has no pages")
        trace.state.pages = self.data.pages

    @classmethod
    def toolsets(cls, config: RiddleTaskConfig) -> list[vf.Toolset]:
        """A book, and a dictionary."""
        return [RiddleToolset(config.book), DictionaryToolset(config.dictionary)]

    @vf.reward(weight=0.75)
    async def right(self, trace: vf.Trace) -> float:
        """Whether the last reply is the word."""
        if self.config.break_scoring:
            raise OSError("the scorer lost its glasses")
        return float(trace.last_reply == self.data.answer)

    @vf.reward(weight=0.25)
    async def looked(self, trace: vf.Trace) -> float:
        """Whether it was looked up: by the shared state and by the messages, which must agree."""
        return float(bool(trace.state.seen) and len(trace.state.seen) == len(trace.tool_messages))


class RiddleConfig(vf.TasksetConfig):
    """How many riddles."""

    task: RiddleTaskConfig = RiddleTaskConfig()
    riddles: int = 3
    user_first: bool = False


class RiddleTaskset(vf.Taskset[RiddleTask, RiddleConfig]):
    """Riddles without end, cut where the config says."""

    def load(self) -> Iterable[RiddleTask]:
        """Riddle n has its word on page n."""
        for n in range(self.config.riddles):
            pages = [f"nothing on page {place}" for place in range(self.config.riddles)]
            pages[n] = f"the word is w{n}"
            prompt = None if self.config.user_first else f"Which word stands in book {n}?"
            yield RiddleTask(
                RiddleData(prompt=prompt, system_prompt="Answer with one word.", pages=pages, answer=f"w{n}"),
                self.config.task,
            )


if __name__ == "__main__":
    DictionaryToolset.run()
