"""Replays the model's final stage, from decoder output to next token ("Attention Is All You Need", section 3.4)."""

from dataclasses import dataclass

import numpy as np

from transformer.analysis.replay.residual import stack_output
from transformer.backpropagation.softmax import softmax
from transformer.values.trace import Trace
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class Prediction:
    """Next-token predictions at each of T decoding steps, float64.

    Attributes:
        logits: output of the generator, [T, V].
        probabilities: softmax of the logits, [T, V].
        likeliest: id of the most likely next token, [T].
    """

    logits: np.ndarray
    probabilities: np.ndarray
    likeliest: np.ndarray


def prediction(trace: Trace, weights: Weights) -> Prediction:
    """Compute next-token predictions from the decoder output, using a trace with details."""
    hidden = stack_output(trace, weights, "decoder").astype(np.float32)
    # The model also multiplies in float32, so a float64 copy of the largest weight matrix would add no precision.
    logits = (hidden @ weights.arrays["generator.weight"].T).astype(np.float64)
    if weights.config.output_bias:
        logits += weights.arrays["generator.bias"]
    return Prediction(logits, softmax(logits), trace.candidate_ids[:, 0])
