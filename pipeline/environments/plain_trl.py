"""Tasks and environments of ours for TRL's own GRPOTrainer, without the rest of the pipeline.

    rows = Dataset.from_list(trl_rows(worlds, tasks))
    factories = {name: world.factory for name, world in worlds.items()}
    GRPOTrainer(model, train_dataset=rows, environment_factory=factories, ...)

An environment that was written for TRL needs none of this: TRL takes its class and its rows as they are.
"""

from collections.abc import Iterable

from pipeline.environments.worlds import Worlds
from pipeline.records import JsonObject, Task
from pipeline.tables import dumps


def trl_rows(worlds: Worlds, tasks: Iterable[Task]) -> list[JsonObject]:
    """One row a task: the prompt as messages, the environment that TRL is to choose, and what its `reset` takes.

    States and calls are JSON text, see `base.unpacked`.
    """
    return [
        {
            "prompt": _prompt(worlds[task.environment].procedure, task.question), "environment": task.environment,
            "question": task.question, "initial_state": dumps(task.initial_state),
            "golden_state": dumps(task.golden_state), "golden_calls": dumps(task.golden_calls),
        }
        for task in tasks
    ]  # fmt: skip


def _prompt(procedure: str, question: str) -> list[JsonObject]:
    system = [{"role": "system", "content": procedure}] if procedure else []
    return [*system, {"role": "user", "content": question}]
