"""Records the values at chosen sites in a run on one text, and computes gradients with respect to them."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from transformer.config import TransformerConfig
from transformer.errors import InterventionError
from transformer.model.recorder import Recorder
from transformer.values.kinds import Kind
from transformer.values.sites import OUTSIDE_LAYERS, check_sites, split_site


class SiteRecorder(Recorder):
    """Recorder that also keeps the values at the given sites, after all edits and hooks.

    Args:
        names: names of sites, each with or without a layer.
        config: configuration of the model.

    Raises:
        InterventionError: the model has no such site, or has local attention, which treats each block as its own text.
    """

    def __init__(self, names: Iterable[str], config: TransformerConfig) -> None:
        super().__init__(details=False)
        self.names = tuple(names)
        check_sites(self.names, config)
        if config.attention == "local":
            raise InterventionError("The values of local attention cannot be read: choose a model with full attention.")
        self._tensors: dict[str, list[Tensor]] = {split_site(name)[0]: [] for name in self.names}

    def store(self, kind: Kind, name: str, x: Tensor) -> Tensor:
        super().store(kind, name, x)
        if (site := f"{kind}.{name}") in self._tensors:
            if torch.is_grad_enabled():
                # A loaded model's parameters do not require gradients, so make x require one. Make x a separate tensor,
                # because a hook may return the same tensor in every layer.
                x = x.view_as(x) if x.requires_grad else x.detach().requires_grad_()
            self._tensors[site].append(x)
        return x

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the recorded values by name, read-only float32 [L, ...].

        Values of a single layer and values from outside the layers do not have the axis L.
        """
        return self._by_name(self._tensors)

    def gradients(self, y: Tensor) -> dict[str, np.ndarray]:
        """Return the gradients of the number y with respect to the recorded values; shapes are as in `arrays`.

        The recorded run must not have used `torch.inference_mode`. The gradient of a value that does not affect y is 0.
        """
        tensors = [x for layers in self._tensors.values() for x in layers]
        found = iter(torch.autograd.grad(y, tensors, materialize_grads=True))
        return self._by_name({site: [next(found) for _ in layers] for site, layers in self._tensors.items()})

    def _by_name(self, tensors: dict[str, list[Tensor]]) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for name in self.names:
            site, layer = split_site(name)
            x = torch.cat([tensors[site][int(layer)]] if layer else tensors[site])  # L x [1, ...] -> [L, ...]
            x = x[0] if layer or site.endswith(OUTSIDE_LAYERS) else x
            arrays[name] = x.detach().float().cpu().numpy()
            arrays[name].flags.writeable = False
        return arrays
