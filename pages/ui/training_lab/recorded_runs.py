"""Loads recorded training runs, which pages replay without training."""

from dataclasses import fields
from functools import cache
from pathlib import Path

from transformer.errors import TaskError
from transformer.files.paths import ASSETS
from transformer.tasks.archive import load_run
from transformer.tasks.config import TaskConfig
from transformer.tasks.run import TaskRun

FOLDER = ASSETS / "recorded_runs"


def recorded_run(task: str, folder: Path = FOLDER) -> TaskRun | None:
    """Return a task's recorded training run; None if there is none.

    Raises:
        TaskError: the file is damaged or belongs to another task. The message is a single line.
    """
    path = folder / f"{task}.npz"
    if not path.is_file():
        return None
    run = _read(path)
    if run.config.task != task:
        raise TaskError(f"{path.name} contains a training run of another task, {run.config.task}")
    return run


# `st.cache_resource` is unsuitable, because any user can clear its cache from the browser.
@cache
def _read(path: Path) -> TaskRun:
    return load_run(path)


def command_of(run: TaskRun) -> str:
    """Return the command that repeats a training run."""
    config = run.config
    defaults = TaskConfig(task=config.task)
    options = [
        f"--{field.name.replace('_', '-')} {getattr(config, field.name)}"
        for field in fields(config)
        if getattr(config, field.name) != getattr(defaults, field.name)
    ]
    models = sum(snapshot.weights is not None for snapshot in run.snapshots)
    if models < len(run.snapshots):
        options.append(f"--models {models}")
    return " ".join(["attention-atlas tasks train", config.task, *options, "--output run.npz"])
