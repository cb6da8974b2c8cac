"""Stages of the backward pass through a sub-layer: residual connection, norm, and attention or feed-forward network."""

from collections.abc import Iterator

import numpy as np

from transformer.backpropagation.activations import DERIVATIVES
from transformer.backpropagation.attention_stages import attention
from transformer.backpropagation.layer_norm import LayerNormSaved, layer_norm
from transformer.backpropagation.stage import GradientStage, StageBuilder, stream_before
from transformer.backpropagation.sums import ColumnSum, Pointwise, Product, Sum
from transformer.values.trace import Part, Stack

RESIDUAL_PATH, SUBLAYER_PATH = "past the sub-layer", "through the sub-layer"
NORM = r"\frac{1}{\sigma}\left(dn - \overline{dn} - n\, \overline{dn \odot n}\right), \quad dn = \gamma \odot dy"


def sublayer(builder: StageBuilder, stack: Stack, layer: int, part: Part) -> Iterator[GradientStage]:
    """Yield the stages of one sub-layer, with its norm and its residual connection."""
    builder = builder.at(f"{stack}.{part}", stack, layer)
    computed, pre, rows = builder.gradients, builder.gradients.config.norm == "pre", builder.rows
    name, before = f"{stack}_layers.{layer}.{part}", stream_before(stack, layer, part)
    norm, d_sum = f"{name}_residual.norm", computed.gradients[f"{name}.after"][0]
    if not pre:
        d_after, summed = d_sum, f"{name}.summed"
        yield from norm_parameters(builder, norm, summed, d_after)
        yield builder.stage(
            "summed",
            "sum before the norm",
            rf"d(x + f) = {NORM}",
            f"B, {rows}, D",
            summed,
            Sum(norm_terms(builder, norm, summed, d_after)),
        )
        d_sum = computed.gradients[summed][0]
    if part == "feed_forward":
        yield from _feed_forward(builder, d_sum)
    else:
        yield from attention(builder, part, d_sum)
    if pre:
        d_read = computed.gradients[f"{name}.read"][0]
        yield from norm_parameters(builder, norm, before, d_read)
        formula, through = rf"dx = dx' + {NORM}", norm_terms(builder, norm, before, d_read)
    else:
        formula, through = r"dx = d(x + f) + df", {SUBLAYER_PATH: computed.gradients[before][0] - d_sum}
    yield builder.stage(
        "residual", "residual connection", formula, f"B, {rows}, D", before, Sum({RESIDUAL_PATH: d_sum, **through})
    )


def norm_parameters(builder: StageBuilder, norm: str, before: str, dy: np.ndarray) -> Iterator[GradientStage]:
    """Yield the stages for the gain and bias of a layer norm.

    Args:
        builder: creates the stages.
        norm: name of the norm.
        before: name of the norm's input, [1, N, D].
        dy: gradient of the norm's output, [N, D].
    """
    rows, n = builder.rows, _norm_saved(builder, norm, before).normalised
    yield builder.stage(
        "gain",
        "gain of the layer norm",
        r"d\gamma = \sum_n dy_n \odot n_n",
        "1, D",
        f"{norm}.weight",
        ColumnSum({"dy": dy, "n": n}, rows),
    )
    yield builder.stage(
        "shift", "bias of the layer norm", r"d\beta = \sum_n dy_n", "1, D", f"{norm}.bias", ColumnSum({"dy": dy}, rows)
    )


def norm_terms(builder: StageBuilder, norm: str, before: str, dy: np.ndarray) -> dict[str, np.ndarray]:
    """Return the three terms of a layer norm's input gradient, each [N, D]; arguments as in `norm_parameters`."""
    n, deviation, gain = _norm_saved(builder, norm, before)
    dn = gain * dy
    return {
        "dn ÷ σ": dn / deviation,
        "− mean(dn) ÷ σ": np.broadcast_to(-dn.mean(axis=-1, keepdims=True) / deviation, dn.shape),
        "− n × mean(dn ⊙ n) ÷ σ": -n * (dn * n).mean(axis=-1, keepdims=True) / deviation,
    }


def _norm_saved(builder: StageBuilder, norm: str, before: str) -> LayerNormSaved:
    values = builder.gradients.values
    return layer_norm(values[before][0], values[f"{norm}.weight"], values[f"{norm}.bias"])[1]


def _feed_forward(builder: StageBuilder, dy: np.ndarray) -> Iterator[GradientStage]:
    """Yield the stages from the gradient of the network's output, [N, D], to the gradient of the network's input."""
    computed, rows, name = builder.gradients, builder.rows, f"{builder.stack}_layers.{builder.layer}.feed_forward"
    hidden, expanded = (computed.values[f"{name}.{each}"][0] for each in ("hidden", "expanded"))
    read = builder.sublayer_input("feed_forward")
    d_hidden, d_expanded = (computed.gradients[f"{name}.{each}"][0] for each in ("hidden", "expanded"))
    yield builder.stage(
        "contract",
        "second weight matrix of the network",
        r"dW_2 = h^\top dy",
        "F, D",
        f"{name}.contract.weight",
        Product(("h", hidden.T), ("dy", dy), rows),
    )
    yield builder.stage(
        "contract_bias",
        "second bias vector of the network",
        r"db_2 = \sum_n dy_n",
        "1, D",
        f"{name}.contract.bias",
        ColumnSum({"dy": dy}, rows),
    )
    yield builder.stage(
        "hidden",
        "hidden layer",
        r"dh = dy\, W_2^\top",
        f"B, {rows}, F",
        f"{name}.hidden",
        Product(("dy", dy), ("W₂", computed.values[f"{name}.contract.weight"]), "D"),
    )
    yield builder.stage(
        "expanded",
        "hidden layer before the activation",
        r"du = dh \odot f'(u)",
        f"B, {rows}, F",
        f"{name}.expanded",
        Pointwise({"dh": d_hidden, "f′(u)": DERIVATIVES[computed.config.activation](expanded)}),
    )
    yield builder.stage(
        "expand",
        "first weight matrix of the network",
        rf"dW_1 = {builder.input_symbol}^\top du",
        "D, F",
        f"{name}.expand.weight",
        Product((builder.input_name, read.T), ("du", d_expanded), rows),
    )
    yield builder.stage(
        "expand_bias",
        "first bias vector of the network",
        r"db_1 = \sum_n du_n",
        "1, F",
        f"{name}.expand.bias",
        ColumnSum({"du": d_expanded}, rows),
    )
    if computed.config.norm == "pre":
        yield builder.stage(
            "read",
            "input of the network",
            r"d\hat{x} = du\, W_1^\top",
            f"B, {rows}, D",
            f"{name}.read",
            Product(("du", d_expanded), ("W₁", computed.values[f"{name}.expand.weight"]), "F"),
        )
