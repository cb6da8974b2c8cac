"""Collects the tensors of one run, for the trace."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import torch
from torch import Tensor


class Recorder:
    """Stores the tensors of one run.

    `Hooks` brings it the tensors. Layers run in order, so the index in each list is the layer.

    Attributes:
        tensors: lists by site. "encoder.weights", "decoder.weights", "cross.weights" are [B, H, T, S] per layer. In
            local attention, each block counts as a separate text; `Blocks.whole_map` joins them.
            `details` adds "*.scores" [B, H, T, S], and "*.queries", "*.keys", "*.values", "*.outputs" [B, H, ., K].
            It also adds "encoder.residual", "decoder.residual" [B, ., D], before the first layer and after each
            sub-layer. "encoder.feed_forward", "decoder.feed_forward" [B, ., D] are the outputs of these networks.
    """

    def __init__(self, *, details: bool) -> None:
        self.details = details
        self.tensors: dict[str, list[Tensor]] = defaultdict(list)

    def store(self, site: str, x: Tensor) -> None:
        """Store the next layer's tensor at a site.

        The stream between two sub-layers of a layer, "*.residual_mid", goes into the same list as "*.residual".
        """
        if self.details or site.endswith(".weights"):
            self.tensors[site.removesuffix("_mid")].append(x)

    def stacked(self, name: str) -> np.ndarray:
        """Stack the tensors of one name over the layers, for a batch of one text: L x [1, ...] -> [L, ...], float32."""
        return torch.cat(self.tensors[name]).float().cpu().numpy()
