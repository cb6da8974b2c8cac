"""A training process: the only one, or one of several that torchrun started."""

from __future__ import annotations

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
    """The rank of this process among `count` processes, and the device it trains on."""

    rank: int
    count: int
    device: torch.device

    def sum(self, number: float) -> float:
        """The sum of the numbers of all processes."""
        if self.count == 1:
            return number
        total = torch.tensor(number, device=self.device)
        distributed.all_reduce(total)
        return total.item()

    def of_first(self, data: bytes) -> bytes:
        """Broadcast the data of the first process to all; the data of the others is ignored."""
        size = torch.tensor(len(data), device=self.device)
        distributed.broadcast(size, 0)
        # torch needs a writable copy.
        content = (
            torch.frombuffer(bytearray(data), dtype=torch.uint8)
            if self.rank == 0
            else torch.empty(int(size), dtype=torch.uint8)
        )
        content = content.to(self.device)
        distributed.broadcast(content, 0)
        return content.cpu().numpy().tobytes()

    def in_first(self, work: Callable[[], Result]) -> Result | None:
        """Do work in the first process only and return its result; None in the others.

        Raises:
            ValueError, OSError: the error of `work` in the first process. Each of the others raises a ValueError with
                the same message, because they would wait in vain.
        """
        result, error = None, None
        if self.rank == 0:
            try:
                result = work()
            except (ValueError, OSError) as raised:
                error = raised
        if self.count > 1:
            problem = json.loads(self.of_first(json.dumps(str(error) if error else None).encode()))
            if problem is not None and self.rank:
                raise ValueError(problem)
        if error:
            raise error
        return result


@contextmanager
def process_group(device: str | None = None) -> Iterator[Process]:
    """Join the processes that torchrun started, or be the only one.

    Args:
        device: "cpu", "cuda" or "mps"; None takes CUDA if available, otherwise the CPU.

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
    # DistributedDataParallel imports it. A module that is imported while there is a group keeps that group forever.
    importlib.import_module("torch._dynamo")
    distributed.init_process_group("nccl" if name.startswith("cuda") else "gloo")
    try:
        yield Process(distributed.get_rank(), count, torch.device(name))
    finally:
        # The threads of a group end with the last reference to it. A DistributedDataParallel has one and is part of
        # cycles. A thread that outlives the interpreter can abort the process after all its work is done.
        gc.collect()
        distributed.destroy_process_group()


def has_bfloat16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 matrices in hardware."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return False
