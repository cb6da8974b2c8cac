"""Finds the devices that can run a model on this machine, and explains device errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

from transformer.errors import DeviceError


def available_devices() -> tuple[str, ...]:
    """Return the devices that can run a model on this machine, fastest first; "cpu" is always included."""
    candidates = [("cuda", torch.cuda.is_available()), ("mps", torch.backends.mps.is_available()), ("cpu", True)]
    return tuple(name for name, available in candidates if available and _works(name))


def chosen_device(name: str | None) -> str:
    """Return the device with the given name, or the fastest device if the name is None.

    Raises:
        DeviceError: this machine does not have the device.
    """
    devices = available_devices()
    if name is not None and name not in devices:
        raise DeviceError(f"This machine has no device {name!r}. Choose one of: {', '.join(devices)}.")
    return name or devices[0]


@cache
def _works(device: str) -> bool:
    """Return whether a device can run an operation; PyTorch also lists GPUs that are too old for its kernels."""
    try:
        return torch.ones(1, device=device).add(1).item() == 2
    except (RuntimeError, AssertionError) as error:
        # A device without free memory counts as working, because loading the model will report the lack of memory.
        return "out of memory" in str(error).lower()


def use_one_thread() -> None:
    """Make torch use a single CPU thread in this process, so that other threads and processes can use the cores.

    Threads that share an operation wait for the slowest thread. On two busy cores, a sentence takes twenty times as
    long with two threads as with one.
    """
    torch.set_num_threads(1)


@contextmanager
def device_errors_explained(device: str) -> Iterator[None]:
    """Context manager that converts device failures into errors that say what to do.

    Raises:
        DeviceError: the device ran out of memory or stopped responding.
    """
    try:
        yield
    except RuntimeError as error:
        # Check the message, because Apple's MPS, unlike CUDA, has no exception class for out-of-memory errors.
        if "out of memory" in str(error).lower():
            raise DeviceError(
                f"The device {device} has too little free memory. Shorten the text, or choose the device cpu."
            ) from error
        # The GPU was unplugged, reset or taken away by its driver. Some kernels then raise a plain RuntimeError,
        # which can be recognised only by its message.
        if isinstance(error, torch.AcceleratorError) or "cuda error" in str(error).lower():
            raise DeviceError(
                f"The device {device} no longer responds ({str(error).splitlines()[0]}). Choose the device cpu, or "
                "restart the app."
            ) from error
        raise
