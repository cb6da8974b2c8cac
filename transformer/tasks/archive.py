"""Saves and loads task training runs as archives of numpy arrays."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from transformer.errors import TaskError
from transformer.files.atomic_writes import atomic_file
from transformer.tasks.config import TaskConfig
from transformer.tasks.registry import task_named
from transformer.tasks.run import Snapshot, TaskRun
from transformer.tasks.scores import SCORES
from transformer.values.kinds import KINDS

SPECTRUM = "spectrum"
NUMBERS = ("held_out_loss", "exact_match", "training_match")


def save_run(run: TaskRun, path: Path, models: int | None = None) -> None:
    """Save a training run, replacing the file atomically.

    Args:
        run: training run.
        path: file to write.
        models: number of snapshots to save with weights, including the first and the last; None for all. All other
            snapshots are saved without weights, which take up most of the file.
    """
    snapshots = run.snapshots
    with_weights = [index for index, snapshot in enumerate(snapshots) if snapshot.weights is not None]
    if models is not None:
        places = np.linspace(0, len(with_weights) - 1, max(2, min(models, len(with_weights)))).round().astype(int)
        with_weights = [with_weights[place] for place in sorted(set(places.tolist()))]
    spectra = [snapshot.spectrum for snapshot in snapshots if snapshot.spectrum is not None]
    arrays = {
        "config": _as_bytes(run.config.to_json()),
        "item": _as_bytes(task_named(run.config.task).write(run.item.source)),
        "seconds": np.array(run.seconds),
        "losses": run.losses,
        "kept": np.array(with_weights, dtype=np.uint32),
        "weights": np.stack([weights for index in with_weights if (weights := snapshots[index].weights) is not None]),
        **{name: np.array([getattr(snapshot, name) for snapshot in snapshots]) for name in NUMBERS},
        **{f"attention_{kind}": np.stack([snapshot.attention[kind] for snapshot in snapshots]) for kind in KINDS},
        **{
            f"{name}_{kind}": np.array([snapshot.scores[name][kind] for snapshot in snapshots], dtype=np.float32)
            for name in SCORES
            for kind in KINDS
        },
        **({SPECTRUM: np.stack(spectra)} if spectra else {}),
    }
    # numpy would append .npz to a path with another extension, so pass an open file.
    with atomic_file(path) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load_run(path: Path) -> TaskRun:
    """Load a training run from a file written by `save_run`.

    Raises:
        TaskError: the file is missing, damaged, or not a training run; the message is a single line.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except OSError as error:
        raise TaskError(f"cannot read {path} ({error.strerror}): choose a recorded run's file") from error
    except (ValueError, TypeError, EOFError, BadZipFile, zlib.error) as error:
        raise TaskError(f"{path.name} is damaged, or is not a recorded run: {error}") from None
    try:
        return _run(arrays)
    except (ValueError, KeyError) as error:
        message = f"{path.name} is a run from another version of Attention Atlas ({error}): record it again"
        raise TaskError(message) from None


def _run(arrays: Mapping[str, np.ndarray]) -> TaskRun:
    config = TaskConfig.from_json(arrays["config"].tobytes())
    losses = arrays["losses"]
    weights = dict(zip(arrays["kept"].tolist(), arrays["weights"], strict=True))
    snapshots = tuple(
        Snapshot(
            step=step,
            weights=weights.get(index),
            **{name: float(arrays[name][index]) for name in NUMBERS},
            attention={kind: arrays[f"attention_{kind}"][index] for kind in KINDS},
            scores={name: {kind: arrays[f"{name}_{kind}"][index] for kind in KINDS} for name in SCORES},
            spectrum=arrays[SPECTRUM][index] if SPECTRUM in arrays else None,
        )
        for index, step in enumerate(step for step in config.snapshot_steps if step <= len(losses))
    )
    item = task_named(config.task).parse(arrays["item"].tobytes().decode("utf-8"))
    return TaskRun(config, item, losses, snapshots, float(arrays["seconds"]))


def _as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
