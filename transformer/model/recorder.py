"""Collects the tensors of one model run, for the trace."""

from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import Tensor

from transformer.values.kinds import Kind
from transformer.values.sites import HookFunction, HookFunctions

# Sites of the residual stream, which share one list.
RESIDUAL_STREAM = {"embedding", "after_self_attention", "after_cross_attention", "residual"}
# Sites that a trace does not contain.
NOT_RECORDED = {"feed_forward_hidden", "output", "logits"}


class Recorder:
    """Stores the tensors of one model run.

    `Hooks` calls `store` for every tensor. Layers run in order, so a tensor's index in a list is the layer.

    Attributes:
        tensors: lists by site. "encoder.weights", "decoder.weights", "cross.weights" are [B, H, T, S] per layer. In
            local attention, each block counts as a separate text; `Blocks.whole_map` joins them.
            With details, there are also "*.scores" [B, H, T, S], and "*.queries", "*.keys", "*.values" and "*.outputs"
            [B, H, ., K]. "encoder.residual" and "decoder.residual" [B, ., D] are the residual stream before the first
            layer and after each sub-layer. "encoder.feed_forward" and "decoder.feed_forward" [B, ., D] are the outputs
            of the feed-forward networks.
    """

    def __init__(self, *, details: bool) -> None:
        self.details = details
        self.tensors: dict[str, list[Tensor]] = defaultdict(list)

    def store(self, kind: Kind, name: str, x: Tensor) -> None:
        """Store the next tensor of the site `kind.name`."""
        if name == "weights" or (self.details and name not in NOT_RECORDED):
            self.tensors[f"{kind}.{'residual' if name in RESIDUAL_STREAM else name}"].append(x)

    def stacked(self, name: str) -> np.ndarray:
        """Stack a site's tensors over the layers, for a batch of one text: L x [1, ...] -> [L, ...], float32."""
        return torch.cat(self.tensors[name]).float().cpu().numpy()


def read_sites(sites: Iterable[str], run: Callable[[HookFunctions], object]) -> dict[str, np.ndarray]:
    """Return a run's values on one text by site, float32: [L, ...], or [...] for sites outside the layers.

    Args:
        sites: names of sites.
        run: function that runs the model with the given hooks. If it runs the model several times, the last run counts.
    """
    layers: dict[str, dict[int, Tensor]] = {site: {} for site in sites}

    def keep_at(site: str) -> HookFunction:
        def keep(x: Tensor, layer: int, start: int) -> None:
            layers[site][layer] = x[0]

        return keep

    run({site: keep_at(site) for site in layers})
    found: dict[str, np.ndarray] = {}
    for site, by_layer in layers.items():
        x = by_layer[-1] if -1 in by_layer else torch.stack(list(by_layer.values()))
        found[site] = x.float().cpu().numpy()
        found[site].flags.writeable = False
    return found
