"""The guarantee for resuming an interrupted training."""

from __future__ import annotations

from collections.abc import Callable

import torch

from transformer.training.trainer import Trainer


def assert_continues_exactly(trainer: Callable[[], Trainer]) -> None:
    """Check that six steps are the same, bit for bit, with an interruption after the third.

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
