"""Direct logit attribution: how much each decoder component contributes to a logit.

The residual stream after the last layer is the sum of the embedding, the outputs of all heads and feed-forward
networks, and biases. If the last layer norm's scale is fixed at its observed value, each logit is also a sum over these
components (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; pre-norm models only). If the
embedding has a layer norm, its scale is fixed in the same way. The encoder does not write to the decoder's stream, so
it contributes only through cross-attention heads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transformer.analysis.replay.contributions import contributions
from transformer.analysis.replay.residual import sublayer
from transformer.attribution.attribution import Target
from transformer.attribution.embedding import embedding_summands
from transformer.attribution.transformed import linear_layer_norm
from transformer.backpropagation.layer_norm import EPSILON
from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights

ComponentKind = Literal[
    "token embedding",
    "position",
    "self-attention head",
    "self-attention bias",
    "cross-attention head",
    "cross-attention bias",
    "feed-forward",
    "norm bias",
    "output bias",
]
ATTENTION: dict[Kind, tuple[ComponentKind, ComponentKind]] = {
    "decoder": ("self-attention head", "self-attention bias"),
    "cross": ("cross-attention head", "cross-attention bias"),
}


@dataclass(frozen=True)
class Component:
    """A model component that contributes one term to a logit.

    Attributes:
        kind: type of component.
        layer: 0-based decoder layer; None for a component outside the layers.
        head: 0-based head; None for a component that is not a head.
    """

    kind: ComponentKind
    layer: int | None = None
    head: int | None = None


@dataclass(frozen=True, eq=False)
class DirectLogits:
    """Contributions of model components to the logits of several targets; float64.

    Attributes:
        targets: the R targets.
        components: the N components, in the order in which they write to the residual stream; then the biases of the
            norms and of the output projection.
        scores: contributions, [R, N]. For a target with `against`, contributions to the logit difference.
        logits: each target's logit or logit difference, computed separately from the trace's last residual stream, [R].
            It equals the sum of the target's scores.
    """

    targets: tuple[Target, ...]
    components: tuple[Component, ...]
    scores: np.ndarray
    logits: np.ndarray


def direct_logits(trace: Trace, weights: Weights, targets: Sequence[Target]) -> DirectLogits:
    """Split each target's logit into the components' contributions, summed over the target's positions.

    The trace must have been computed with `details=True`.

    Raises:
        ValueError: the model is post-norm, so later layer norms rescale what earlier components wrote.
    """
    if weights.config.norm != "pre":
        raise ValueError(
            "direct logit attribution needs a pre-norm model: post-norm components do not write directly to the logits"
        )
    components, vectors, embedding_bias = _contributions(trace, weights)
    gain, bias = weights.gain_and_bias("decoder_norm")
    stream = trace.residual_stream("decoder")[-1].astype(np.float64)
    deviation = np.sqrt(stream.var(axis=-1, keepdims=True) + EPSILON)
    read = linear_layer_norm(vectors, gain, deviation)  # [N, T, D]
    final = linear_layer_norm(stream, gain, deviation) + bias
    biases = linear_layer_norm(embedding_bias, gain, deviation) + bias  # [T, D]
    matrix = weights.arrays["generator.weight"]
    offsets = weights.arrays["generator.bias"] if weights.config.output_bias else np.zeros(len(matrix))
    scores = np.zeros((len(targets), len(components) + 2))
    logits = np.zeros(len(targets))
    for row, target in enumerate(targets):
        others = target.against or (None,) * len(target.positions)
        for position, other in zip(target.positions, others, strict=True):
            written_id = trace.predicted_tokens[position].id
            direction, offset = matrix[written_id].astype(np.float64), float(offsets[written_id])
            if other is not None:
                direction, offset = direction - matrix[other], offset - float(offsets[other])
            scores[row] += (*(read[:, position] @ direction), biases[position] @ direction, offset)
            logits[row] += final[position] @ direction + offset
    return DirectLogits(tuple(targets), (*components, Component("norm bias"), Component("output bias")), scores, logits)


def _contributions(trace: Trace, weights: Weights) -> tuple[list[Component], np.ndarray, np.ndarray]:
    """Return the components, the vectors they add to the stream, [N, T, D], and the embedding norm's bias, [D]."""
    summands, bias = embedding_summands(trace, weights, "decoder")
    components, vectors = [Component("token embedding"), Component("position")][: len(summands)], [*summands]
    for layer in range(weights.config.decoder_layers):
        for kind, (head_kind, bias_kind) in ATTENTION.items():
            terms = contributions(trace, weights, kind, layer)
            components += [Component(head_kind, layer, head) for head in range(weights.config.heads)]
            vectors += list(terms.heads())
            components.append(Component(bias_kind, layer))
            vectors.append(np.broadcast_to(terms.bias, summands[0].shape))
        components.append(Component("feed-forward", layer))
        vectors.append(sublayer(trace, weights, "decoder", layer, "feed_forward").written)
    return components, np.stack(vectors), bias
