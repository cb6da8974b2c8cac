"""The processes of a training run: one process, or several communicating processes started by torchrun."""

import gc
import importlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import distributed

from transformer.model.devices import available_devices, chosen_device

Result = TypeVar("Result")


@dataclass(frozen=True)
class Process:
    """One training process: its rank among `count` processes, and its device."""

    rank: int
    count: int
    device: torch.device

    def sum(self, number: float) -> float:
        """Return the sum of `number` over all processes."""
        if self.count == 1:
            return number
        total = torch.tensor(number, device=self.device)
        distributed.all_reduce(total)
        return total.item()

    def broadcast(self, data: bytes) -> bytes:
        """Send the first process's `data` to all processes, and return it; the other processes' `data` is ignored."""
        size = torch.tensor(len(data), device=self.device)
        distributed.broadcast(size, 0)
        # Copy the bytes, because torch needs a writable buffer.
        content = (
            torch.frombuffer(bytearray(data), dtype=torch.uint8)
            if self.rank == 0
            else torch.empty(int(size), dtype=torch.uint8)
        )
        content = content.to(self.device)
        distributed.broadcast(content, 0)
        return content.cpu().numpy().tobytes()

    def run_in_first(self, work: Callable[[], Result]) -> Result | None:
        """Call `work` in the first process only; return its result there, and None in all other processes.

        Raises:
            ValueError, OSError: `work` raised this error in the first process. All other processes raise a ValueError
                with the same message instead of waiting forever.
        """
        result, error = None, None
        if self.rank == 0:
            try:
                result = work()
            except (ValueError, OSError) as raised:
                error = raised
        if self.count > 1:
            problem = json.loads(self.broadcast(json.dumps(str(error) if error else None).encode()))
            if problem is not None and self.rank:
                raise ValueError(problem)
        if error:
            raise error
        return result


@contextmanager
def process_group(device: str | None = None) -> Iterator[Process]:
    """Context manager that yields this process. If torchrun started several processes, they are connected first.

    Args:
        device: "cpu", "cuda" or "mps"; None means CUDA if available, and otherwise the CPU.

    Raises:
        DeviceError: this machine has no such device.
    """
    name = chosen_device(device or ("cuda" if "cuda" in available_devices() else "cpu"))
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Process(0, 1, torch.device(name))
        return
    if name == "cuda":
        name = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(name)
    # Import torch._dynamo before the process group exists. Otherwise DistributedDataParallel would import it later, and
    # that import would keep the group alive forever.
    importlib.import_module("torch._dynamo")
    distributed.init_process_group("nccl" if name.startswith("cuda") else "gloo")
    try:
        yield Process(distributed.get_rank(), count, torch.device(name))
    finally:
        # The threads of a process group end once nothing refers to the group. DistributedDataParallel refers to the
        # group and is part of a reference cycle, so collect garbage first. A thread that outlives the interpreter can
        # abort the process after all work is done.
        gc.collect()
        distributed.destroy_process_group()


def has_bfloat16(device: torch.device) -> bool:
    """Return whether the device multiplies bfloat16 matrices in hardware."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return False
