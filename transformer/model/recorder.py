"""Collects the tensors of one run, for the trace."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import torch
from torch import Tensor


class Recorder:
    """Stores the tensors of one run.

    Every layer gets the recorder as an argument. Modules store nothing, so runs of different users on one model cannot
    see each other's numbers. Layers call it in the order in which they run, so the index in each list is the layer.

    Attributes:
        tensors: lists by name. "encoder.weights", "decoder.weights", "cross.weights" are [B, H, T, S] per layer. In
            local attention, each block counts as a separate text; `Blocks.whole_map` joins them.
            `details` adds "*.scores" [B, H, T, S], and "*.queries", "*.keys", "*.values", "*.outputs" [B, H, ., K].
            It also adds "encoder.residual", "decoder.residual" [B, ., D], before the first layer and after each
            sub-layer. "encoder.feed_forward", "decoder.feed_forward" [B, ., D] are the outputs of these networks.
    """

    def __init__(self, *, details: bool) -> None:
        self.details = details
        self.tensors: dict[str, list[Tensor]] = defaultdict(list)

    def attention(self, kind: str, *, weights: Tensor, **parts: Tensor) -> None:
        """Store the tensors of one attention layer."""
        self.tensors[f"{kind}.weights"].append(weights)
        if self.details:
            for name, tensor in parts.items():
                self.tensors[f"{kind}.{name}"].append(tensor)

    def stream(self, name: str, x: Tensor) -> None:
        """Store the residual stream [B, T, D] at this point, or the output of a sub-layer."""
        if self.details:
            self.tensors[name].append(x)

    def stacked(self, name: str) -> np.ndarray:
        """Stack the tensors of one name over the layers, for a batch of one text: L x [1, ...] -> [L, ...], float32."""
        return torch.cat(self.tensors[name]).float().cpu().numpy()
