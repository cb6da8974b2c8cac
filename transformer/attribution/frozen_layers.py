"""Represents the sub-layers of a single model run as linear maps, separated by head, in float64.

Attention weights, layer norm scales and activation factors are held constant, as in `transformer.attribution.frozen`.
In addition, the contribution of each head or feed-forward network to the input of every later sub-layer is kept
separate.

Letters: W writers (components that add to a residual stream), R heads of a sub-layer (1 for a feed-forward network), T
query positions, S key positions, D model width, F feed-forward width.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from transformer.attribution.embedding import embedding_summands
from transformer.attribution.transformed import linear_layer_norm
from transformer.backpropagation.layer_norm import EPSILON, layer_norm
from transformer.backpropagation.layers import attention_sublayer, feed_forward_sublayer
from transformer.backpropagation.notes import Notes, select
from transformer.values.interventions import AS_TRAINED
from transformer.values.trace import Kind, Part, Stack, Trace
from transformer.values.weights import Weights


@dataclass(frozen=True)
class SubLayerId:
    """Identifies a sub-layer: encoder or decoder, 0-based layer, and type of sub-layer."""

    stack: Stack
    layer: int
    part: Part

    @property
    def kind(self) -> Kind | None:
        """Attention kind; None for a feed-forward network."""
        if self.part == "feed_forward":
            return None
        return "cross" if self.part == "cross_attention" else self.stack

    @property
    def reads(self) -> Stack:
        """Stack whose residual stream supplies an attention's keys and values or a feed-forward network's input."""
        return "encoder" if self.part == "cross_attention" else self.stack


@dataclass(frozen=True, eq=False)
class FrozenNorm:
    """A layer norm with constant standard deviations, [T, 1]; the identity if `gain` is None."""

    gain: np.ndarray | None = None
    bias: np.ndarray | float = 0.0
    deviation: np.ndarray | float = 1.0

    def linear(self, vectors: np.ndarray, at: int | slice = slice(None)) -> np.ndarray:
        """Apply the norm's linear part to vectors that add up to the input, [..., T, D]; `at` selects a position."""
        if self.gain is None:
            return vectors
        return linear_layer_norm(vectors, self.gain, np.asarray(self.deviation)[at])

    def adjoint(self, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient at the norm's input, given the gradient at the norm's output, [..., T, D]."""
        return self.centred(gradient) / self.deviation

    def centred(self, gradient: np.ndarray) -> np.ndarray:
        """Return the same as `adjoint`, but without dividing by each position's standard deviation."""
        if self.gain is None:
            return gradient
        scaled = gradient * self.gain
        return scaled - scaled.mean(axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class FrozenLayer:
    """A sub-layer as a linear map.

    At position t, head r writes constant[r, t] plus the sum over s of mix[r, t, s] f(x[s]). Here, x is the input after
    the norm `read`, and f is linear. For a feed-forward network, f depends on s.

    Attributes:
        place: identifies the sub-layer.
        before: residual stream before the sub-layer, [T, D].
        query_norm: norm before the query projection.
        read: norm before the key and value projections.
        after: norm after the residual connection; the identity in pre-norm models.
        mix: attention weights, [R, T, S]; the identity matrix for a feed-forward network.
        written: each head's output, [R, T, D].
        constant: part of `written` that comes from biases rather than from the input, [R, T, D].
        bias: output bias of attention, [D]; 0 for a feed-forward network, whose biases are all in `constant`.
        factor: output of the activation function divided by its input, [T, F]; None for attention.
    """

    place: SubLayerId
    before: np.ndarray
    query_norm: FrozenNorm
    read: FrozenNorm
    after: FrozenNorm
    mix: np.ndarray
    written: np.ndarray
    constant: np.ndarray
    bias: np.ndarray
    factor: np.ndarray | None

    def input_gradient(self, gradient: np.ndarray, weights: Weights) -> np.ndarray:
        """Return the gradient at each head's input, [R, T, D], given the gradient at the sub-layer's output, [T, D]."""
        place = self.place
        if place.kind is not None:
            projections = weights.attention(place.kind, place.layer)
            return gradient @ projections.output.swapaxes(-1, -2) @ projections.value.swapaxes(-1, -2)
        name = f"{place.stack}_layers.{place.layer}.feed_forward"
        expand, contract = weights.linear(f"{name}.expand"), weights.linear(f"{name}.contract")
        return ((gradient @ contract.matrix.T * self.factor) @ expand.matrix.T)[None]


@dataclass(frozen=True, eq=False)
class Streams:
    """A residual stream at one point of the model, split into the contributions of components.

    Attributes:
        writers: each writer's contribution after all norms so far, [W, T, D]. The writers are the embeddings, the
            positional encodings if the model adds any, then every head and feed-forward network in order.
        constant: contribution of the biases that belong to no writer, [T, D].
        names: each writer as (sub-layer, head): (None, 0) for the embeddings and (None, 1) for the positional
            encodings.
    """

    writers: np.ndarray
    constant: np.ndarray
    names: tuple[tuple[SubLayerId | None, int], ...]


class FrozenRun:
    """A model run in which everything nonlinear is held constant at its observed value.

    Attributes:
        layers: the sub-layers in execution order.
        output: norm at the output of the encoder and of the decoder.
        last: residual stream at the end of the encoder and of the decoder, [T, D] each.

    Raises:
        ValueError: the trace has interventions, or the model has local or compressed attention.
    """

    def __init__(self, trace: Trace, weights: Weights) -> None:
        if trace.interventions != AS_TRAINED:
            raise ValueError("paths are defined only for the model as trained: make the trace without interventions")
        if weights.config.attention != "full":
            raise ValueError(
                f"paths are defined only for models with full attention, not with {weights.config.attention} attention"
            )
        # Convert each layer's weights to float64 once, because every weight is used several times.
        doubled = {name: array.astype(np.float64) for name, array in weights.arrays.items() if "_layers." in name}
        weights = replace(weights, arrays={**weights.arrays, **doubled})
        self.trace, self.weights = trace, weights
        self.layers: list[FrozenLayer] = []
        self.output: dict[Stack, FrozenNorm] = {}
        self.last: dict[Stack, np.ndarray] = {}
        self._embedded: dict[Stack, Streams] = {}
        for stack in trace.stacks:
            summands, bias = embedding_summands(trace, weights, stack)
            constant = np.broadcast_to(bias, summands.shape[1:])
            self._embedded[stack] = Streams(summands, constant, tuple((None, part) for part in range(len(summands))))
            x = summands.sum(axis=0) + bias
            for layer in range(weights.config.layers_of(stack)):
                for part in trace.parts(stack):
                    frozen, x = self._freeze(SubLayerId(stack, layer, part), x)
                    self.layers.append(frozen)
            self.last[stack] = x
            self.output[stack] = self._norm(f"{stack}_norm", x, "pre")

    def stack_output(self, stack: Stack, last: np.ndarray) -> np.ndarray:
        """Return a stack's output, given the stream after the last layer, [..., T, D]. The norm is not frozen."""
        return self._normed(f"{stack}_norm", last, "pre")

    def after(self, place: SubLayerId, summed: np.ndarray) -> np.ndarray:
        """Return the stream after a sub-layer, given its input plus its output, [..., D]. The norm is not frozen."""
        return self._normed(f"{place.stack}_layers.{place.layer}.{place.part}_residual.norm", summed, "post")

    def embeddings(self, stack: Stack) -> np.ndarray:
        """Return a stack's token embeddings and, if the model adds any, positional encodings, [1 or 2, T, D]."""
        return self._embedded[stack].writers

    def steps(self) -> Iterator[tuple[FrozenLayer | None, Mapping[Stack, Streams]]]:
        """Yield each sub-layer with the residual streams before it, then None with the final streams."""
        streams: Mapping[Stack, Streams] = self._embedded
        for layer in self.layers:
            yield layer, streams
            old = streams[layer.place.stack]
            writers, constant = np.concatenate((old.writers, layer.written)), old.constant + layer.bias
            names = old.names + tuple((layer.place, head) for head in range(len(layer.written)))
            norm = layer.after
            new = Streams(norm.linear(writers), norm.linear(constant) + norm.bias, names)
            streams = {**streams, layer.place.stack: new}
        yield None, streams

    def streams_before(self, place: SubLayerId | None) -> Mapping[Stack, Streams]:
        """Return the residual streams before a sub-layer; None stands for the end of the model."""
        return next(streams for layer, streams in self.steps() if (layer and layer.place) == place)

    def at(self, place: SubLayerId) -> FrozenLayer:
        """Return the frozen layer with the given id."""
        return next(layer for layer in self.layers if layer.place == place)

    def run(self, place: SubLayerId, x: np.ndarray, memory: np.ndarray | None, notes: Notes) -> np.ndarray:
        """Run a sub-layer, unfrozen, on streams [B, T, D], and return the streams after the sub-layer."""
        parameters = select(self.weights.arrays, f"{place.stack}_layers.{place.layer}")
        config = self.weights.config
        if place.kind is None:
            return feed_forward_sublayer(x, parameters, config, notes)[0]
        source = memory if place.part == "cross_attention" else None
        return attention_sublayer(place.part, x, source, parameters, config, self.trace.mask(place.kind), notes)[0]

    def _freeze(self, place: SubLayerId, x: np.ndarray) -> tuple[FrozenLayer, np.ndarray]:
        weights, notes = self.weights, Notes()
        is_cross = place.part == "cross_attention"
        memory = self.stack_output("encoder", self.last["encoder"][None]) if is_cross else None
        x_after = self.run(place, x[None], memory, notes)[0]
        values = select(notes.values, place.part)
        name = f"{place.stack}_layers.{place.layer}.{place.part}"
        query_norm = self._norm(f"{name}_residual.norm", x, "pre")
        if place.kind is not None:
            projections = weights.attention(place.kind, place.layer)
            mix = values["weights"][0]
            outputs = values["outputs"][0] @ projections.output
            weight_sums = mix.sum(axis=-1, keepdims=True)
            constant = weight_sums * (projections.value_bias[:, None] @ projections.output)
            bias, factor = projections.output_bias, None
        else:
            expanded, hidden = values["expanded"][0], values["hidden"][0]
            expand, contract = weights.linear(f"{name}.expand"), weights.linear(f"{name}.contract")
            # If the activation's input is 0, any factor gives the right product.
            factor = np.divide(hidden, expanded, out=np.zeros_like(hidden), where=expanded != 0)
            mix, bias = np.eye(len(x))[None], np.zeros(x.shape[-1])
            outputs = (hidden @ contract.matrix + contract.bias)[None]
            constant = (factor * expand.bias @ contract.matrix + contract.bias)[None]
        summed = x + outputs.sum(axis=0) + bias
        output_norm = self._norm(f"{name}_residual.norm", summed, "post")
        key_value_norm = self.output["encoder"] if is_cross else query_norm
        return FrozenLayer(
            place, x, query_norm, key_value_norm, output_norm, mix, outputs, constant, bias, factor
        ), x_after

    def _norm(self, name: str, x: np.ndarray, where: str) -> FrozenNorm:
        """Freeze the named layer norm for the input x, [T, D].

        Return the identity if `where` ("pre" or "post") is not the model's norm placement.
        """
        if self.weights.config.norm != where:
            return FrozenNorm()
        deviation = np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON)
        return FrozenNorm(*self.weights.gain_and_bias(name), deviation)

    def _normed(self, name: str, x: np.ndarray, where: str) -> np.ndarray:
        if self.weights.config.norm != where:
            return x
        return layer_norm(x, *self.weights.gain_and_bias(name))[0]
