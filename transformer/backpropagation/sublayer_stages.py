"""Creates the backward stages of one sub-layer: residual connection, feed-forward network or attention, and norm."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transformer.backpropagation.activations import DERIVATIVES
from transformer.backpropagation.attention_stages import attention
from transformer.backpropagation.layer_norm import LayerNormSaved, layer_norm
from transformer.backpropagation.notes import rows_of
from transformer.backpropagation.stage import GradientStage, StageBuilder, read_by, stream_before
from transformer.backpropagation.sums import ColumnSum, Pointwise, Product, Sum
from transformer.values.trace import Part, Stack

PAST, THROUGH = "past the sub-layer", "through the sub-layer"
NORM = r"\frac{1}{\sigma}\left(dn - \overline{dn} - n\, \overline{dn \odot n}\right), \quad dn = \gamma \odot dy"


def sublayer(builder: StageBuilder, stack: Stack, layer: int, part: Part) -> Iterator[GradientStage]:
    """Yield the stages of one sub-layer, with its norm and residual connection."""
    found, pre, rows = builder.found, builder.found.config.norm == "pre", rows_of(stack)
    name, key, before = f"{stack}_layers.{layer}.{part}", f"{stack}.{part}", stream_before(stack, layer, part)
    norm, d_sum = f"{name}_residual.norm", found.gradients[f"{name}.after"][0]
    if not pre:
        d_after, summed = d_sum, f"{name}.summed"
        yield from norm_parameters(builder, key, stack, layer, norm, summed, d_after)
        yield builder.point(
            f"{key}.summed",
            stack,
            layer,
            "sum before the norm",
            rf"d(x + f) = {NORM}",
            f"B, {rows}, D",
            summed,
            lambda a: a[0],
            Sum(norm_terms(builder, norm, summed, d_after)),
        )
        d_sum = found.gradients[summed][0]
    if part == "feed_forward":
        yield from _feed_forward(builder, stack, layer, d_sum)
    else:
        yield from attention(builder, stack, layer, part, d_sum)
    if pre:
        d_read = found.gradients[f"{name}.read"][0]
        yield from norm_parameters(builder, key, stack, layer, norm, before, d_read)
        formula, through = rf"dx = dx' + {NORM}", norm_terms(builder, norm, before, d_read)
    else:
        formula, through = r"dx = d(x + f) + df", {THROUGH: found.gradients[before][0] - d_sum}
    yield builder.point(
        f"{key}.residual",
        stack,
        layer,
        "residual connection",
        formula,
        f"B, {rows}, D",
        before,
        lambda a: a[0],
        Sum({PAST: d_sum, **through}),
    )


def norm_parameters(
    builder: StageBuilder, key: str, stack: Stack, layer: int | None, norm: str, before: str, dy: np.ndarray
) -> Iterator[GradientStage]:
    """Yield the stages of a norm's gain and bias.

    Args:
        builder: creates the stages.
        key: first part of the stages' keys, the key of the sub-layer.
        stack, layer: as in `Stage`.
        norm: name of the norm.
        before: name of the norm's input, [1, N, D].
        dy: gradient of the norm's output, [N, D].
    """
    rows, n = rows_of(stack), _normed(builder, norm, before).normalised
    yield builder.parameter(
        f"{key}.gain",
        stack,
        layer,
        "gain of the layer norm",
        r"d\gamma = \sum_n dy_n \odot n_n",
        "1, D",
        f"{norm}.weight",
        lambda a: a[None],
        ColumnSum({"dy": dy, "n": n}, rows),
    )
    yield builder.parameter(
        f"{key}.shift",
        stack,
        layer,
        "bias of the layer norm",
        r"d\beta = \sum_n dy_n",
        "1, D",
        f"{norm}.bias",
        lambda a: a[None],
        ColumnSum({"dy": dy}, rows),
    )


def norm_terms(builder: StageBuilder, norm: str, before: str, dy: np.ndarray) -> dict[str, np.ndarray]:
    """Return the three terms of a norm's input gradient, [N, D] each; the arguments are as in `norm_parameters`."""
    n, deviation, gain = _normed(builder, norm, before)
    dn = gain * dy
    return {
        "dn ÷ σ": dn / deviation,
        "− mean(dn) ÷ σ": np.broadcast_to(-dn.mean(axis=-1, keepdims=True) / deviation, dn.shape),
        "− n × mean(dn ⊙ n) ÷ σ": -n * (dn * n).mean(axis=-1, keepdims=True) / deviation,
    }


def _normed(builder: StageBuilder, norm: str, before: str) -> LayerNormSaved:
    values = builder.found.values
    return layer_norm(values[before][0], values[f"{norm}.weight"], values[f"{norm}.bias"])[1]


def _feed_forward(builder: StageBuilder, stack: Stack, layer: int, dy: np.ndarray) -> Iterator[GradientStage]:
    """Yield the stages from the gradient of the network's output, [N, D], to the gradient of the network's input."""
    found, rows = builder.found, rows_of(stack)
    name, key = f"{stack}_layers.{layer}.feed_forward", f"{stack}.feed_forward"
    hidden, expanded = (found.values[f"{name}.{each}"][0] for each in ("hidden", "expanded"))
    read = read_by(builder, stack, layer, "feed_forward")
    d_hidden, d_expanded = (found.gradients[f"{name}.{each}"][0] for each in ("hidden", "expanded"))
    yield builder.parameter(
        f"{key}.contract",
        stack,
        layer,
        "second weights of the network",
        r"dW_2 = h^\top dy",
        "F, D",
        f"{name}.contract.weight",
        lambda a: a.T,
        Product(("h", hidden.T), ("dy", dy), rows),
    )
    yield builder.parameter(
        f"{key}.contract_bias",
        stack,
        layer,
        "second bias of the network",
        r"db_2 = \sum_n dy_n",
        "1, D",
        f"{name}.contract.bias",
        lambda a: a[None],
        ColumnSum({"dy": dy}, rows),
    )
    yield builder.point(
        f"{key}.hidden",
        stack,
        layer,
        "hidden layer",
        r"dh = dy\, W_2^\top",
        f"B, {rows}, F",
        f"{name}.hidden",
        lambda a: a[0],
        Product(("dy", dy), ("W₂", found.values[f"{name}.contract.weight"]), "D"),
    )
    yield builder.point(
        f"{key}.expanded",
        stack,
        layer,
        "hidden layer before the activation",
        r"du = dh \odot f'(u)",
        f"B, {rows}, F",
        f"{name}.expanded",
        lambda a: a[0],
        Pointwise({"dh": d_hidden, "f′(u)": DERIVATIVES[found.config.activation](expanded)}),
    )
    yield builder.parameter(
        f"{key}.expand",
        stack,
        layer,
        "first weights of the network",
        rf"dW_1 = {builder.seen}^\top du",
        "D, F",
        f"{name}.expand.weight",
        lambda a: a.T,
        Product((builder.seen_name, read.T), ("du", d_expanded), rows),
    )
    yield builder.parameter(
        f"{key}.expand_bias",
        stack,
        layer,
        "first bias of the network",
        r"db_1 = \sum_n du_n",
        "1, F",
        f"{name}.expand.bias",
        lambda a: a[None],
        ColumnSum({"du": d_expanded}, rows),
    )
    if found.config.norm == "pre":
        yield builder.point(
            f"{key}.read",
            stack,
            layer,
            "what the network reads",
            r"d\hat{x} = du\, W_1^\top",
            f"B, {rows}, D",
            f"{name}.read",
            lambda a: a[0],
            Product(("du", d_expanded), ("W₁", found.values[f"{name}.expand.weight"]), "F"),
        )
