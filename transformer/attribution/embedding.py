"""Splits the residual stream before the first layer into token embeddings and positional encodings."""

import numpy as np

from transformer.analysis.replay.embedding import embedded_text
from transformer.attribution.transformed import linear_layer_norm
from transformer.backpropagation.layer_norm import EPSILON
from transformer.values.trace import SIDES, Stack, Trace
from transformer.values.weights import Weights


def embedding_summands(trace: Trace, weights: Weights, stack: Stack) -> tuple[np.ndarray, np.ndarray]:
    """Split the input of the encoder or decoder into token embeddings, positional encodings and a bias.

    An embedding norm is applied to each summand separately, with the standard deviation of the sum. The trace must have
    details.

    Returns:
        Token embeddings and, if the model adds any, positional encodings, [1 or 2, T, D]. Then the embedding norm's
        bias, [D]; 0 without an embedding norm. All of these add up to the input.
    """
    text = embedded_text(trace, weights, stack)
    summands = np.stack([text.scaled, *([] if text.positions is None else [text.positions])])
    if not weights.config.embedding_norm:
        return summands, np.zeros(summands.shape[-1])
    gain, bias = weights.gain_and_bias(f"{SIDES[stack]}_norm")
    deviation = np.sqrt(summands.sum(axis=0).var(axis=-1, keepdims=True) + EPSILON)
    return linear_layer_norm(summands, gain, deviation), bias
