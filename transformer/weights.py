"""A model's parameters as numpy arrays, cut the way the field speaks of them.

What reads numbers off a trace needs them and no tensor. Letters: H heads, D model width, K head width, F feed-forward
width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from transformer.config import TransformerConfig
from transformer.trace import Kind

ATTENTION: Mapping[Kind, str] = {
    "encoder": "encoder_layers.{}.self_attention",
    "decoder": "decoder_layers.{}.self_attention",
    "cross": "decoder_layers.{}.cross_attention",
}


@dataclass(frozen=True, eq=False)
class Linear:
    """x @ matrix + bias.

    Attributes:
        matrix: float64 [in, out].
        bias: float64 [out].
    """

    matrix: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True, eq=False)
class Projections:
    """The linear maps of one attention layer, head by head ("Attention Is All You Need", section 3.2.2).

    Attributes:
        query, key, value: W^Q, W^K, W^V of every head, float64 [H, D, K].
        query_bias, key_bias, value_bias: float64 [H, K].
        output: the rows of W^O that each head is multiplied with, float64 [H, K, D].
        output_bias: b^O, float64 [D].
    """

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    query_bias: np.ndarray
    key_bias: np.ndarray
    value_bias: np.ndarray
    output: np.ndarray
    output_bias: np.ndarray


@dataclass(frozen=True, eq=False)
class Weights:
    """All parameters of a model.

    Attributes:
        config: shape of the model.
        arrays: float32, read-only, by the names in the checkpoint; a shared one stands under all of its names.
    """

    config: TransformerConfig
    arrays: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrays", MappingProxyType(dict(self.arrays)))
        for array in self.arrays.values():
            array.setflags(write=False)

    def attention(self, kind: Kind, layer: int) -> Projections:
        """The projections of an attention layer, the first being 0."""
        name, heads = ATTENTION[kind].format(layer), self.config.heads
        # [3D, D] to [3, H, K, D]: queries, keys, values, each the heads below each other.
        parts = self._double(f"{name}.in_projection.weight").reshape(3, heads, -1, self.config.d_model)
        biases = self._double(f"{name}.in_projection.bias").reshape(3, heads, -1)
        output = self.linear(f"{name}.out_projection")
        return Projections(
            *parts.swapaxes(-1, -2), *biases, output.matrix.reshape(heads, -1, self.config.d_model), output.bias
        )

    def linear(self, name: str) -> Linear:
        """A linear map with a bias by its name in the checkpoint."""
        return Linear(self._double(f"{name}.weight").T, self._double(f"{name}.bias"))

    def gain_and_bias(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Of a layer normalisation by its name in the checkpoint, float64 [D] each."""
        return self._double(f"{name}.weight"), self._double(f"{name}.bias")

    def _double(self, name: str) -> np.ndarray:
        # Sums that are carried out in front of a reader should not be off in the last digit shown.
        return self.arrays[name].astype(np.float64)
