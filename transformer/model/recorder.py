"""Collects the tensors of one model run, for the trace."""

from collections import defaultdict

import numpy as np
import torch
from torch import Tensor

from transformer.values.kinds import Kind
from transformer.values.trace import DETAILS

# Names of the residual stream's sites. A `Recorder` stores the tensors of all these sites in one list per stack.
RESIDUAL_STREAM = {"embedding", "after_self_attention", "after_cross_attention", "residual"}
# Names of the sites that a `Recorder` stores only if its `details` is True.
IN_DETAILS = {*RESIDUAL_STREAM, *DETAILS, "feed_forward"}


class Recorder:
    """Stores the tensors of one model run.

    `Hooks` calls `store` for every tensor. Layers run in order, so a tensor's index in a list is the layer, except in
    the lists of the residual stream.

    Attributes:
        tensors: lists by site. "encoder.weights", "decoder.weights" and "cross.weights" are [B, H, T, S] per layer. In
            local attention, each block counts as a separate text; `Blocks.whole_map` joins the blocks.
            With details, there are also "*.scores" [B, H, T, S], and "*.queries", "*.keys", "*.values" and "*.outputs"
            [B, H, ., K]. "encoder.residual" and "decoder.residual" [B, ., D] are the residual stream before the first
            layer and after each sub-layer. "encoder.feed_forward" and "decoder.feed_forward" [B, ., D] are the outputs
            of the feed-forward networks.
    """

    def __init__(self, *, details: bool) -> None:
        self.details = details
        self.tensors: dict[str, list[Tensor]] = defaultdict(list)

    def store(self, kind: Kind, name: str, x: Tensor) -> Tensor:
        """Store the next tensor of the site `kind.name` if the trace needs it; return the tensor unchanged."""
        if name == "weights" or (self.details and name in IN_DETAILS):
            self.tensors[f"{kind}.{'residual' if name in RESIDUAL_STREAM else name}"].append(x)
        return x

    def stacked(self, name: str) -> np.ndarray:
        """Stack a site's tensors over the layers, for a batch of one text: L x [1, ...] -> [L, ...], float32."""
        return torch.cat(self.tensors[name]).float().cpu().numpy()
