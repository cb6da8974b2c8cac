"""The available tasks, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from transformer.errors import TaskError
from transformer.tasks.arithmetic import Addition, ModularAddition
from transformer.tasks.sequences import Letters, RepeatedPattern
from transformer.tasks.task import Task

TASKS: Mapping[str, Task] = MappingProxyType(
    {
        task.name: task
        for task in (
            Letters("copy", "Copy", "Write the letters again.", lambda source: source),
            Letters("reverse", "Reverse", "Write the letters from last to first.", lambda source: source[::-1]),
            Letters("sort", "Sort", "Write the letters in alphabetical order.", lambda source: tuple(sorted(source))),
            RepeatedPattern(),
            Addition(reversed_digits=False),
            Addition(reversed_digits=True),
            ModularAddition(),
        )
    }
)


def task_named(name: str) -> Task:
    """Look up a task by name.

    Raises:
        TaskError: there is no such task.
    """
    if name not in TASKS:
        raise TaskError(f"there is no task {name!r}: the tasks are {', '.join(TASKS)}")
    return TASKS[name]
