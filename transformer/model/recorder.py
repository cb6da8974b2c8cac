"""Collects the tensors of one run, for the trace."""

from __future__ import annotations

from collections import defaultdict

from torch import Tensor


class Recorder:
    """Made for one run and passed down through it as an argument: nothing is ever kept on a module, so runs of
    different people on one model cannot see each other's numbers.

    Layers report in the order in which they run, so the position in each list is the layer.

    Attributes:
        tensors: lists by name: "encoder.weights", "decoder.weights", "cross.weights", [B, H, T, S] a layer; with
            `details` also "*.scores" [B, H, T, S], "*.queries", "*.keys", "*.values", "*.outputs" [B, H, ., K],
            and "encoder.residual", "decoder.residual" [B, ., D], before the first layer and after each sub-layer.
    """

    def __init__(self, *, details: bool) -> None:
        self.details = details
        self.tensors: dict[str, list[Tensor]] = defaultdict(list)

    def attention(self, kind: str, *, weights: Tensor, **parts: Tensor) -> None:
        """Keep what one attention layer computed."""
        self.tensors[f"{kind}.weights"].append(weights)
        if self.details:
            for name, tensor in parts.items():
                self.tensors[f"{kind}.{name}"].append(tensor)

    def residual(self, stack: str, x: Tensor) -> None:
        """Keep the residual stream [B, T, D] as it stands now."""
        if self.details:
            self.tensors[f"{stack}.residual"].append(x)
