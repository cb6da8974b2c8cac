"""A run in a file: an archive of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from transformer.errors import TaskError
from transformer.files.archive import as_bytes, as_text, read_archive, write_archive
from transformer.tasks.config import SNAPSHOT_BYTES, TaskConfig
from transformer.tasks.registry import task_named
from transformer.tasks.run import Snapshot, TaskRun
from transformer.tasks.scores import SCORES
from transformer.values.kinds import KINDS

# Of a file; a configuration does not allow weights of more than SNAPSHOT_BYTES, and the rest is small.
FILE_BYTES = SNAPSHOT_BYTES + 64 * 1024**2
SPECTRUM = "spectrum"
NUMBERS = ("held_out_loss", "exact_match", "training_match")


def save_run(run: TaskRun, path: Path, models: int | None = None) -> None:
    """Write a run, as a whole or not at all.

    Args:
        models: snapshots that keep their weights, the first and the last among them, which most of a file is; None for
            all. The others keep their numbers and their attention.
    """
    snapshots = run.snapshots
    with_weights = [index for index, snapshot in enumerate(snapshots) if snapshot.weights is not None]
    if models is not None:
        places = np.linspace(0, len(with_weights) - 1, max(2, min(models, len(with_weights)))).round().astype(int)
        with_weights = [with_weights[place] for place in sorted(set(places.tolist()))]
    spectra = [snapshot.spectrum for snapshot in snapshots if snapshot.spectrum is not None]
    write_archive(path, {
        "config": as_bytes(run.config.to_json()),
        "item": as_bytes(task_named(run.config.task).write(run.item.source)),
        "seconds": np.array(run.seconds), "losses": run.losses,
        "kept": np.array(with_weights, dtype=np.uint32),
        "weights": np.stack([weights for index in with_weights if (weights := snapshots[index].weights) is not None]),
        **{name: np.array([getattr(snapshot, name) for snapshot in snapshots]) for name in NUMBERS},
        **{f"attention_{kind}": np.stack([snapshot.attention[kind] for snapshot in snapshots]) for kind in KINDS},
        **{f"{name}_{kind}": np.array([snapshot.scores[name][kind] for snapshot in snapshots], dtype=np.float32)
           for name in SCORES for kind in KINDS},
        **({SPECTRUM: np.stack(spectra)} if spectra else {}),
    })


def load_run(path: Path) -> TaskRun:
    """Read what `save_run` wrote.

    Raises:
        TaskError: there is no such file, or it is too large, damaged, or something else; the message is one line.
    """
    try:
        if path.stat().st_size > FILE_BYTES:
            raise TaskError(f"{path.name} is larger than any recorded run ({FILE_BYTES // 1024**2} MiB)")
        arrays = read_archive(path)
    except OSError as error:
        raise TaskError(f"{path} cannot be read ({error.strerror}): give a file of a recorded run") from error
    except TaskError:
        raise
    except ValueError as error:
        raise TaskError(f"{path.name} is no recorded run, or is damaged: {error}") from None
    try:
        return _run(arrays)
    except (ValueError, KeyError) as error:
        raise TaskError(f"{path.name} is a run of another version of the Atlas: {error}") from None


def _run(arrays: Mapping[str, np.ndarray]) -> TaskRun:
    """The run that an archive holds."""
    config = TaskConfig.from_json(as_text(arrays["config"]))
    losses = arrays["losses"]
    weights = dict(zip(arrays["kept"].tolist(), arrays["weights"], strict=True))
    snapshots = tuple(
        Snapshot(
            step=step, weights=weights.get(index), **{name: float(arrays[name][index]) for name in NUMBERS},
            attention={kind: arrays[f"attention_{kind}"][index] for kind in KINDS},
            scores={name: {kind: arrays[f"{name}_{kind}"][index] for kind in KINDS} for name in SCORES},
            spectrum=arrays[SPECTRUM][index] if SPECTRUM in arrays else None,
        ) for index, step in enumerate(step for step in config.snapshot_steps if step <= len(losses))
    )
    item = task_named(config.task).parse(as_text(arrays["item"]))
    return TaskRun(config, item, losses, snapshots, float(arrays["seconds"]))
