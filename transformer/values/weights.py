"""A model's parameters as numpy arrays, with attention projections split by head, as in the literature.

Letters: H heads, D model width, K head width.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from transformer.config import TransformerConfig
from transformer.values.trace import Kind

ATTENTION: Mapping[Kind, str] = {
    "encoder": "encoder_layers.{}.self_attention",
    "decoder": "decoder_layers.{}.self_attention",
    "cross": "decoder_layers.{}.cross_attention",
}


@dataclass(frozen=True, eq=False)
class LinearWeights:
    """A linear layer, x @ matrix + bias.

    Attributes:
        matrix: float64 [in, out].
        bias: float64 [out].
    """

    matrix: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True, eq=False)
class Projections:
    """Projections of one attention layer, split by head ("Attention Is All You Need", section 3.2.2).

    Attributes:
        query, key, value: W^Q, W^K, W^V for each head, float64 [H, D, K].
        query_bias, key_bias, value_bias: float64 [H, K].
        output: the rows of W^O that multiply each head's output, float64 [H, K, D].
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
        config: model configuration.
        arrays: read-only float32 parameters by checkpoint name; a shared parameter is listed under all its names.
    """

    config: TransformerConfig
    arrays: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrays", MappingProxyType(dict(self.arrays)))
        for array in self.arrays.values():
            array.setflags(write=False)

    def attention(self, kind: Kind, layer: int) -> Projections:
        """Return the projections of an attention layer, by 0-based layer index."""
        name, heads = ATTENTION[kind].format(layer), self.config.heads
        d_model = self.config.d_model
        parts = self._double(f"{name}.in_projection.weight").reshape(3, heads, -1, d_model)  # [3D, D] -> [3, H, K, D]
        query, key, value = parts.swapaxes(-1, -2)  # [3, H, K, D] -> 3 x [H, D, K]
        query_bias, key_bias, value_bias = self._double(f"{name}.in_projection.bias").reshape(3, heads, -1)
        output = self.linear(f"{name}.out_projection")
        return Projections(
            query=query,
            key=key,
            value=value,
            query_bias=query_bias,
            key_bias=key_bias,
            value_bias=value_bias,
            output=output.matrix.reshape(heads, -1, d_model),  # [D, D] -> [H, K, D]
            output_bias=output.bias,
        )

    def linear(self, name: str) -> LinearWeights:
        """Return the linear layer with the given name in the checkpoint."""
        return LinearWeights(self._double(f"{name}.weight").T, self._double(f"{name}.bias"))

    def gain_and_bias(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the gain and bias, float64 [D] each, of the layer norm with the given name in the checkpoint."""
        return self._double(f"{name}.weight"), self._double(f"{name}.bias")

    def _double(self, name: str) -> np.ndarray:
        # float64 keeps the sums shown on the pages correct to the last digit.
        return np.asarray(self.arrays[name], dtype=np.float64)
