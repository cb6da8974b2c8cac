"""Training runs that take seconds, and a check that they can be resumed."""

from collections.abc import Callable
from pathlib import Path

import torch

from transformer.training.config import TrainConfig
from transformer.training.distributed import Process
from transformer.training.trainer import Trainer

TINY = {
    "d_model": 32,
    "heads": 4,
    "layers": 1,
    "d_ff": 64,
    "batch_pieces": 256,
    "micro_batches": 2,
    "steps": 6,
    "warmup": 2,
    "save_minutes": 60.0,
    "average": 2,
}


def trainer(run: Path, start: Path | None = None, **changes: object) -> Trainer:
    """Return a trainer for a prepared folder, with the settings in TINY and some changes."""
    return Trainer(run, TrainConfig(**{**TINY, **changes}), Process(0, 1, torch.device("cpu")), start)


def copy_prepared(run: Path, to: Path) -> Path:
    """Copy the prepared files of a run, without files from training, into an existing folder; return that folder."""
    for name in ("tokenizer.model", "train.safetensors", "validation.safetensors"):
        (to / name).write_bytes((run / name).read_bytes())
    return to


def assert_continues_exactly(trainer: Callable[[], Trainer]) -> None:
    """Check that six steps are bitwise identical with and without an interruption after the third.

    Args:
        trainer: returns a new trainer of the same run at each call.
    """
    whole = trainer()
    losses = [whole.take_step()[0] for _ in range(6)]
    interrupted = trainer()
    first = [interrupted.take_step()[0] for _ in range(3)]
    interrupted._save()
    resumed = trainer()
    assert resumed.step == 3
    assert first + [resumed.take_step()[0] for _ in range(3)] == losses
    for (name, one), other in zip(whole.model.named_parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, other), name
