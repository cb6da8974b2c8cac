"""Simulates a device with torch's `meta` tensors, which have no values.

This detects, even without a GPU, operations that mix devices or create a tensor on the wrong device. Values that are
read back from the simulated device are invented.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

META = torch.device("meta")
CPU = torch.device("cpu")
COPIES = (torch.ops.aten._to_copy, torch.ops.aten.copy_, torch.ops.aten.to)
ASKED = (torch.ops.aten._local_scalar_dense, torch.ops.aten.item, torch.ops.aten.is_nonzero)
SCALARS = {torch.bool: False, torch.int64: 1, torch.float32: 1.0}


class OneDevice(TorchDispatchMode):
    """Fails if a tensor is created on the CPU, or if values are copied to the CPU and back.

    Args:
        results: whether results may be copied to the CPU. Of these, only token ids and row indices may return to the
            device.
        given: whether precomputed numbers, such as head means or positions, may be copied to the device.
        counting: whether values read back are 0, 1, 2 and so on instead of zeros, so that the rows of a
            batch choose different tokens.
    """

    def __init__(self, *, results: bool = False, given: bool = False, counting: bool = False) -> None:
        super().__init__()
        self.results, self.given, self.counting = results, given, counting
        self.operations = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.operations += 1
        given = tree_leaves((args, kwargs))
        inputs = [each for each in given if isinstance(each, torch.Tensor)]
        copies = getattr(func, "overloadpacket", None) in COPIES
        on_cpu = [each for each in inputs if each.device == CPU]
        on_device = [each for each in inputs if each.device == META]
        if getattr(func, "overloadpacket", None) in ASKED and on_device:
            # Scalars that Python reads: whether all sentences have ended, and the number of tokens in a batch.
            return SCALARS[on_device[0].dtype]
        if copies and on_device and CPU in given:
            # Copying indices is allowed: Python selects the interventions of sentences that are still being decoded.
            assert self.results or not on_device[0].dtype.is_floating_point, f"{func}: values leave the device"
            read = torch.zeros(on_device[0].shape, dtype=kwargs.get("dtype") or on_device[0].dtype)
            return torch.arange(read.numel(), dtype=read.dtype).view_as(read) if self.counting else read
        out = func(*args, **kwargs)
        outputs = [each for each in tree_leaves(out) if isinstance(each, torch.Tensor)]
        if any(each.device == META for each in outputs):
            entering = [each for each in on_cpu if each.ndim > 0]
            assert copies or not entering, f"{func} mixes devices"
            floating = [each for each in entering if each.dtype.is_floating_point]
            assert self.given or not floating, f"{func}: values come through the CPU"
        elif outputs and not self.results:
            # numpy masks are wrapped, indexed and stacked on the CPU before they are moved to the device.
            assert all(not each.dtype.is_floating_point for each in outputs), f"{func} computes on the CPU"
        return out


def ids(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.long, device=META)
