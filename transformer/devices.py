"""What a model can run on, on this machine."""

from __future__ import annotations

from functools import cache

import torch

from transformer.errors import DeviceError


def available_devices() -> tuple[str, ...]:
    """The devices of this machine that can run a model, the fastest first; "cpu" is always there."""
    found = [("cuda", torch.cuda.is_available()), ("mps", torch.backends.mps.is_available()), ("cpu", True)]
    return tuple(name for name, there in found if there and _works(name))


def chosen_device(name: str | None) -> str:
    """The device of that name, or the fastest if there is no name.

    Raises:
        DeviceError: this machine has no such device.
    """
    devices = available_devices()
    if name is not None and name not in devices:
        raise DeviceError(f"This machine has no device {name!r}. Choose one of: {', '.join(devices)}.")
    return name or devices[0]


@cache
def _works(device: str) -> bool:
    """Whether it computes: there are GPUs that PyTorch finds, and has no kernels for because they are too old."""
    try:
        return torch.ones(1, device=device).add(1).item() == 2
    except (RuntimeError, AssertionError) as error:
        # Full is not broken: that is said when the model finds no room.
        return "out of memory" in str(error).lower()
