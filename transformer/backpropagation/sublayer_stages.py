"""Creates the stages of one sub-layer in the backward pass: residual connection, network or attention, norm."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from transformer.backpropagation.activations import DERIVATIVES
from transformer.backpropagation.attention import join_heads
from transformer.backpropagation.layer_norm import LayerNormSaved, layer_norm
from transformer.backpropagation.stage import GradientStage, Maker
from transformer.backpropagation.sums import ColumnSum, Formula, Pointwise, Product, Sum
from transformer.model.encodings import relative_positions, turn
from transformer.values.trace import PARTS, SIDES, Part, Stack

PAST, THROUGH = "past the sub-layer", "through the sub-layer"
NORM = r"\frac{1}{\sigma}\left(dn - \overline{dn} - n\, \overline{dn \odot n}\right), \quad dn = \gamma \odot dy"


def rows_of(stack: Stack) -> str:
    """Return the letter for the number of positions in a stack."""
    return "S" if stack == "encoder" else "T"


def _before(stack: Stack, layer: int, part: Part) -> str:
    """Return the name of the stream before a sub-layer."""
    number = PARTS[stack].index(part)
    if number:
        return f"{stack}_layers.{layer}.{PARTS[stack][number - 1]}.after"
    return f"{stack}_layers.{layer - 1}.feed_forward.after" if layer else f"{SIDES[stack]}.input"


def _read_by(maker: Maker, stack: Stack, layer: int, part: Part) -> np.ndarray:
    """Return the input of a sub-layer, [N, D]."""
    pre = maker.found.config.norm == "pre"
    return maker.found.values[f"{stack}_layers.{layer}.{part}.read" if pre else _before(stack, layer, part)][0]


def sublayer(maker: Maker, stack: Stack, layer: int, part: Part) -> Iterator[GradientStage]:
    """Yield the stages of one sub-layer, with its norm and its residual connection."""
    found, pre, rows = maker.found, maker.found.config.norm == "pre", rows_of(stack)
    name, key, before = f"{stack}_layers.{layer}.{part}", f"{stack}.{part}", _before(stack, layer, part)
    norm, d_sum = f"{name}_residual.norm", found.gradients[f"{name}.after"][0]
    if not pre:
        d_after, summed = d_sum, f"{name}.summed"
        yield from norm_parameters(maker, key, stack, layer, norm, summed, d_after)
        yield maker.point(
            f"{key}.summed",
            stack,
            layer,
            "sum before the norm",
            rf"d(x + f) = {NORM}",
            f"B, {rows}, D",
            summed,
            lambda a: a[0],
            Sum(norm_terms(maker, norm, summed, d_after)),
        )
        d_sum = found.gradients[summed][0]
    if part == "feed_forward":
        yield from _feed_forward(maker, stack, layer, d_sum)
    else:
        yield from _attention(maker, stack, layer, part, d_sum)
    if pre:
        d_read = found.gradients[f"{name}.read"][0]
        yield from norm_parameters(maker, key, stack, layer, norm, before, d_read)
        formula, through = rf"dx = dx' + {NORM}", norm_terms(maker, norm, before, d_read)
    else:
        formula, through = r"dx = d(x + f) + df", {THROUGH: found.gradients[before][0] - d_sum}
    yield maker.point(
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
    maker: Maker, key: str, stack: Stack, layer: int | None, norm: str, before: str, dy: np.ndarray
) -> Iterator[GradientStage]:
    """Yield the stages of a norm's gain and bias.

    Args:
        maker: creates the stages.
        key: key of the sub-layer, the first part of the stages' keys.
        stack, layer: as in `Stage`.
        norm: name of the norm.
        before: name of the norm's input, [1, N, D].
        dy: gradient of the norm's output, [N, D].
    """
    rows, n = rows_of(stack), _normed(maker, norm, before).normalised
    yield maker.parameter(
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
    yield maker.parameter(
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


def norm_terms(maker: Maker, norm: str, before: str, dy: np.ndarray) -> dict[str, np.ndarray]:
    """Return the three terms of the gradient of a norm's input, [N, D] each; arguments as in `norm_parameters`."""
    n, deviation, gain = _normed(maker, norm, before)
    dn = gain * dy
    return {
        "dn ÷ σ": dn / deviation,
        "− mean(dn) ÷ σ": np.broadcast_to(-dn.mean(axis=-1, keepdims=True) / deviation, dn.shape),
        "− n × mean(dn ⊙ n) ÷ σ": -n * (dn * n).mean(axis=-1, keepdims=True) / deviation,
    }


def _normed(maker: Maker, norm: str, before: str) -> LayerNormSaved:
    values = maker.found.values
    return layer_norm(values[before][0], values[f"{norm}.weight"], values[f"{norm}.bias"])[1]


def _feed_forward(maker: Maker, stack: Stack, layer: int, dy: np.ndarray) -> Iterator[GradientStage]:
    """Yield the stages from the gradient of the network's output, [N, D], to the gradient of its input."""
    found, rows = maker.found, rows_of(stack)
    name, key = f"{stack}_layers.{layer}.feed_forward", f"{stack}.feed_forward"
    hidden, expanded = (found.values[f"{name}.{each}"][0] for each in ("hidden", "expanded"))
    read = _read_by(maker, stack, layer, "feed_forward")
    d_hidden, d_expanded = (found.gradients[f"{name}.{each}"][0] for each in ("hidden", "expanded"))
    yield maker.parameter(
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
    yield maker.parameter(
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
    yield maker.point(
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
    yield maker.point(
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
    yield maker.parameter(
        f"{key}.expand",
        stack,
        layer,
        "first weights of the network",
        rf"dW_1 = {maker.seen}^\top du",
        "D, F",
        f"{name}.expand.weight",
        lambda a: a.T,
        Product((maker.seen_name, read.T), ("du", d_expanded), rows),
    )
    yield maker.parameter(
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
        yield maker.point(
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


def _attention(maker: Maker, stack: Stack, layer: int, part: Part, dy: np.ndarray) -> Iterator[GradientStage]:
    """Yield the stages from the gradient of the attention output, [N, D], to the gradient of its input."""
    found, head, config = maker.found, maker.head, maker.found.config
    name, key, rows = f"{stack}_layers.{layer}.{part}", f"{stack}.{part}", rows_of(stack)
    columns = "T" if stack == "decoder" and part == "self_attention" else "S"
    one = slice(head * config.d_head, (head + 1) * config.d_head)
    values = {each: found.values[f"{name}.{each}"][0, head] for each in ("queries", "keys", "values", "weights")}
    grads = {
        each: found.gradients[f"{name}.{each}"][0, head]
        for each in ("queries", "keys", "values", "weights", "scores", "outputs")
    }
    output = found.values[f"{name}.out_projection.weight"]  # [D, D], outputs by inputs
    read = _read_by(maker, stack, layer, part)
    seen = found.values["memory"][0] if part == "cross_attention" else read
    root = math.sqrt(config.d_head)

    def of_head(array: np.ndarray) -> np.ndarray:
        return array[0, head]

    def point(
        what: str, title: str, formula: str, letters: str, terms_of: Formula, masked: np.ndarray | None = None
    ) -> GradientStage:
        return maker.point(
            f"{key}.{what}", stack, layer, title, formula, letters, f"{name}.{what}", of_head, terms_of, masked
        )

    yield maker.parameter(
        f"{key}.output",
        stack,
        layer,
        "output projection",
        r"dW^O = [O_1; \dots; O_H]^\top dy",
        "D, D",
        f"{name}.out_projection.weight",
        lambda a: a.T,
        Product(("O", found.values[f"{name}.joined"][0].T), ("dy", dy), rows),
    )
    yield maker.parameter(
        f"{key}.output_bias",
        stack,
        layer,
        "bias of the output projection",
        r"db^O = \sum_n dy_n",
        "1, D",
        f"{name}.out_projection.bias",
        lambda a: a[None],
        ColumnSum({"dy": dy}, rows),
    )
    yield maker.point(
        f"{key}.joined",
        stack,
        layer,
        "all heads joined",
        r"d[O_1; \dots; O_H] = dy\, W^{O\top}",
        f"B, {rows}, D",
        f"{name}.joined",
        lambda a: a[0],
        Product(("dy", dy), ("W^O", output), "D"),
    )
    yield point(
        "outputs",
        "output of the head",
        r"dO_h = dy\, W^{O\top}_h",
        f"B, {rows}, K",
        Product(("dy", dy), ("W^O", output[:, one]), "D"),
    )
    yield point(
        "values",
        "values of the head",
        r"dV_h = A_h^\top dO_h",
        f"B, {columns}, K",
        Product(("A", values["weights"].T), ("dO", grads["outputs"]), rows),
    )
    yield point(
        "weights",
        "attention weights",
        r"dA_h = dO_h V_h^\top",
        f"B, {rows}, {columns}",
        Product(("dO", grads["outputs"]), ("V", values["values"].T), "K"),
    )
    weighted = values["weights"] * grads["weights"]
    yield point(
        "scores",
        "scaled scores",
        r"dS_h = A_h \odot \left(dA_h - \mathrm{rowsum}(A_h \odot dA_h)\right)",
        f"B, {rows}, {columns}",
        Sum({"A ⊙ dA": weighted, "− A × rowsum": -values["weights"] * weighted.sum(axis=-1, keepdims=True)}),
        masked=~np.tri(len(dy), dtype=bool) if columns == "T" else None,
    )
    yield point(
        "queries",
        "queries of the head",
        r"dQ_h = \frac{dS_h K_h}{\sqrt{K}}",
        f"B, {rows}, K",
        Product(("dS", grads["scores"]), ("K", values["keys"]), columns, 1 / root),
    )
    yield point(
        "keys",
        "keys of the head",
        r"dK_h = \frac{dS_h^\top Q_h}{\sqrt{K}}",
        f"B, {columns}, K",
        Product(("dS", grads["scores"].T), ("Q", values["queries"]), rows, 1 / root),
    )
    angles = relative_positions(config, len(dy)).angles if part == "self_attention" else None
    for number, (what, letter, by, over) in enumerate(
        (("queries", "Q", read, rows), ("keys", "K", seen, columns), ("values", "V", seen, columns))
    ):
        back, d_one = "", grads[what]
        if angles is not None and letter != "V":
            back, d_one = r"R_p^\top\, ", turn(d_one, -angles)
        place = slice(number * config.d_model + one.start, number * config.d_model + one.stop)
        symbol = "m" if part == "cross_attention" and letter != "Q" else maker.seen
        spoken = "m" if symbol == "m" else maker.seen_name
        yield maker.parameter(
            f"{key}.{what}_weight",
            stack,
            layer,
            f"weights of the {what}",
            rf"dW^{letter}_h = {symbol}^\top {back}d{letter}_h",
            "D, K",
            f"{name}.in_projection.weight",
            lambda a, place=place: a[place].T,
            Product((spoken, by.T), (f"d{letter}", d_one), over),
        )
        yield maker.parameter(
            f"{key}.{what}_bias",
            stack,
            layer,
            f"bias of the {what}",
            rf"db^{letter}_h = \sum_n {back}d{letter}_{{h,n}}",
            "1, K",
            f"{name}.in_projection.bias",
            lambda a, place=place: a[None, place],
            ColumnSum({f"d{letter}": d_one}, over),
        )
    if config.norm == "pre":
        yield _read_by_heads(maker, stack, layer, part)


def _read_by_heads(maker: Maker, stack: Stack, layer: int, part: Part) -> GradientStage:
    """Return the gradient that all heads together send back to their input."""
    found, rows = maker.found, rows_of(stack)
    name = f"{stack}_layers.{layer}.{part}"
    projections = np.split(found.values[f"{name}.in_projection.weight"], 3)
    grads = {each: found.gradients[f"{name}.{each}"] for each in ("queries", "keys", "values")}
    angles = relative_positions(found.config, grads["queries"].shape[2]).angles
    if angles is not None and part == "self_attention":
        grads |= {each: turn(grads[each], -angles) for each in ("queries", "keys")}
    parts = {
        each: join_heads(grad)[0] @ weight for (each, grad), weight in zip(grads.items(), projections, strict=True)
    }
    # Two lines, because columns on the page are narrow.
    formula = r"d\hat{x} = \sum_h dQ_h W^{Q\top}_h \\ {} + \sum_h \left(dK_h W^{K\top}_h + dV_h W^{V\top}_h\right)"
    if part == "cross_attention":
        # In cross-attention, only queries are computed from this input; keys and values read the encoder's output.
        parts, formula = {"queries": parts["queries"]}, r"d\hat{x} = \sum_h dQ_h W^{Q\top}_h"
    return maker.point(
        f"{stack}.{part}.read",
        stack,
        layer,
        "what all heads read",
        formula,
        f"B, {rows}, D",
        f"{name}.read",
        lambda a: a[0],
        Sum(parts),
    )
