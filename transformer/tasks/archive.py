"""A run in a file: an .npz archive of plain arrays and their digest, read within limits and checked before use."""

from __future__ import annotations

import hashlib
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import IO

import numpy as np

from transformer.errors import TaskError
from transformer.files.replacing import replaced
from transformer.tasks.config import SNAPSHOT_BYTES, TaskConfig
from transformer.tasks.registry import task_named
from transformer.tasks.run import Snapshot, TaskRun
from transformer.tasks.scores import SCORES
from transformer.values.kinds import KINDS, Kind

# Of a file; a configuration does not allow weights of more than SNAPSHOT_BYTES, and the rest is small.
FILE_BYTES = SNAPSHOT_BYTES + 64 * 1024**2
# Of the configuration and of the item, which are text.
TEXT_BYTES = 10_000
# Of an array as numpy's format 1.0 writes it.
HEADER = re.compile(
    rb"\{'descr': '([<|][fu][1248])', 'fortran_order': False, 'shape': \(((?:\d{1,9},? ?){0,6})\), \} *\n"
)
DIGEST = "digest"
SPECTRUM = "spectrum"
NUMBERS = ("held_out_loss", "exact_match", "training_match")
# What reading a damaged archive, or one that was made to do harm, may end in.
DAMAGED = (
    ValueError, KeyError, TypeError, IndexError, OSError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile,
    zlib.error, struct.error,
)


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
    text = task_named(run.config.task).write(run.item.source)
    arrays = {
        "config": as_bytes(run.config.to_json()), "item": as_bytes(text),
        "seconds": np.array(run.seconds), "losses": run.losses,
        "kept": np.array(with_weights, dtype=np.uint32),
        "weights": np.stack([weights for index in with_weights if (weights := snapshots[index].weights) is not None]),
        **{name: np.array([getattr(snapshot, name) for snapshot in snapshots]) for name in NUMBERS},
        **{f"attention_{kind}": np.stack([snapshot.attention[kind] for snapshot in snapshots]) for kind in KINDS},
        **{f"{name}_{kind}": np.array([snapshot.scores[name][kind] for snapshot in snapshots], dtype=np.float32)
           for name in SCORES for kind in KINDS},
        **spectra_of(snapshots),
    }
    arrays[DIGEST] = as_bytes(digest_of(arrays))
    # Opened here, because numpy appends .npz to names that end otherwise.
    with replaced(path) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load_run(path: Path) -> TaskRun:
    """Read what `save_run` wrote.

    Raises:
        TaskError: there is no such file, or it is too large, damaged, or something else; the message is one line.
    """
    try:
        # Opening a pipe waits for whoever writes into it.
        status = path.stat()
        if not S_ISREG(status.st_mode):
            raise TaskError(f"{path} is no file: give one that `attention-atlas tasks train --output` wrote")
        if status.st_size > FILE_BYTES:
            raise TaskError(f"{path.name} is larger than any recorded run ({FILE_BYTES // 1024**2} MiB)")
        file = path.open("rb")
    except OSError as error:
        raise TaskError(f"{path} cannot be read ({error.strerror}): give a file of a recorded run") from error
    with file:
        try:
            with zipfile.ZipFile(file) as archive:
                return read(archive)
        except DAMAGED as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise TaskError(f"{path.name} is no recorded run, or is damaged: {reason}") from None


def read(archive: zipfile.ZipFile) -> TaskRun:
    """The run in an archive. An array's shape is compared with what the configuration asks for before it is read."""
    names = archive.namelist()
    if len(names) != len(set(names)):
        raise ValueError("a part is there twice")
    config = TaskConfig.from_json(text_in(archive, "config"))
    item = task_named(config.task).parse(text_in(archive, "item"))
    losses = array_in(archive, "losses", "float32", most=config.steps)
    steps = [step for step in config.snapshot_steps if step <= len(losses)]
    count, heads = len(steps), (config.layers, config.heads)
    rows, columns = len(item.target) + 1, len(item.source) + 1
    shapes = {"encoder": (columns, columns), "decoder": (rows, rows), "cross": (rows, columns)}
    kept = array_in(archive, "kept", "uint32", most=count)
    if not len(kept) or (np.diff(kept.astype(np.int64)) <= 0).any() or kept[-1] >= count:
        raise ValueError("kept does not say which snapshots have weights")
    stored = array_in(archive, "weights", "float16", (len(kept), config.parameters))
    weights = dict(zip(kept.tolist(), stored, strict=True))
    numbers = {name: array_in(archive, name, "float64", (count,)) for name in NUMBERS}
    attention: dict[Kind, np.ndarray] = {
        kind: array_in(archive, f"attention_{kind}", "float16", (count, *heads, *shapes[kind])) for kind in KINDS
    }
    scores: dict[str, dict[Kind, np.ndarray]] = {
        name: {kind: array_in(archive, f"{name}_{kind}", "float32", (count, *heads), finite=False) for kind in KINDS}
        for name in SCORES
    }
    modulus = task_named(config.task).modulus
    spectra = array_in(archive, SPECTRUM, "float32", (count, modulus // 2)) if modulus else [None] * count
    for name in ("exact_match", "training_match"):
        if numbers[name].min() < 0 or numbers[name].max() > 1:
            raise ValueError(f"{name} is no share")
    snapshots = tuple(
        Snapshot(
            step=step, weights=weights.get(index),
            held_out_loss=float(numbers["held_out_loss"][index]), exact_match=float(numbers["exact_match"][index]),
            training_match=float(numbers["training_match"][index]),
            attention={kind: attention[kind][index] for kind in KINDS},
            scores={name: {kind: scores[name][kind][index] for kind in KINDS} for name in SCORES},
            spectrum=spectra[index],
        ) for index, step in enumerate(steps)
    )
    seconds = array_in(archive, "seconds", "float64", ())
    arrays = {
        "config": as_bytes(text_in(archive, "config")), "item": as_bytes(text_in(archive, "item")), "seconds": seconds,
        "losses": losses, "kept": kept, "weights": stored, **numbers,
        **{f"attention_{kind}": each for kind, each in attention.items()},
        **{f"{name}_{kind}": each for name, of_kinds in scores.items() for kind, each in of_kinds.items()},
        **spectra_of(snapshots),
    }
    if text_in(archive, DIGEST) != digest_of(arrays):
        raise ValueError("it is not as it was written")
    return TaskRun(config, item, losses, snapshots, float(seconds))


def spectra_of(snapshots: Sequence[Snapshot]) -> dict[str, np.ndarray]:
    """The spectra of all snapshots as an array with its name, where the task has any."""
    found = [snapshot.spectrum for snapshot in snapshots if snapshot.spectrum is not None]
    return {SPECTRUM: np.stack(found)} if found else {}


def digest_of(arrays: Mapping[str, np.ndarray]) -> str:
    """The SHA-256 of arrays with their names, in hexadecimal digits."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        found.update(name.encode("ascii") + b"\0" + np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()


def array_in(
    archive: zipfile.ZipFile, name: str, dtype: str, shape: tuple[int, ...] | None = None, *, most: int = 0,
    finite: bool = True,
) -> np.ndarray:
    """One array of an archive.

    Args:
        shape: that it must have; None for one dimension with up to `most` entries.
        finite: refuse what is no finite number. Otherwise NaN is allowed, and infinity is not.
    """
    with archive.open(f"{name}.npy") as file:
        found, found_dtype = read_header(file, name)
        fits = found == shape if shape is not None else len(found) == 1 and found[0] <= most
        if not fits or found_dtype != np.dtype(dtype):
            wanted = shape if shape is not None else f"at most {most} numbers"
            raise ValueError(f"{name} is {found_dtype} {found} and should be {dtype} {wanted}")
        size = int(np.prod(found, dtype=np.int64)) * found_dtype.itemsize
        data = file.read(size)
    if len(data) != size:
        raise ValueError(f"{name} is cut off")
    array = np.frombuffer(data, dtype=found_dtype).reshape(found)
    if not (np.isfinite(array) | (np.isnan(array) & (not finite))).all():
        raise ValueError(f"{name} has values that are no numbers")
    return array


def read_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of the array `name` that a file begins with.

    numpy's own reader evaluates the header as Python, and ends in many kinds of errors if that is damaged.
    """
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError(f"{name} is of another version of numpy's format")
    found = HEADER.fullmatch(file.read(int.from_bytes(file.read(2), "little")))
    if found is None:
        raise ValueError(f"{name} has a damaged header, or is no plain array of numbers")
    dtype, shape = found[1].decode("ascii"), found[2].decode("ascii")
    return tuple(int(size) for size in shape.replace(",", " ").split()), np.dtype(dtype)


def text_in(archive: zipfile.ZipFile, name: str) -> str:
    """A text that was stored as bytes."""
    return array_in(archive, name, "uint8", most=TEXT_BYTES).tobytes().decode("utf-8")


def as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
