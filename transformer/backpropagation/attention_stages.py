"""Stages of the backward pass through an attention sub-layer, from output to input."""

import math
from collections.abc import Iterator

import numpy as np

from transformer.backpropagation.attention import join_heads
from transformer.backpropagation.stage import GradientStage, StageBuilder, by_input
from transformer.backpropagation.sums import ColumnSum, Formula, Product, Sum
from transformer.model.encodings import relative_positions, turn
from transformer.values.trace import Part


def attention(builder: StageBuilder, part: Part, dy: np.ndarray) -> Iterator[GradientStage]:
    """Yield the stages from the attention output, with gradient dy [N, D], back to the input projections.

    In pre-norm models, the last stage is the gradient of the attention input.
    """
    computed, head, config, stack, rows = (
        builder.gradients,
        builder.head,
        builder.gradients.config,
        builder.stack,
        builder.rows,
    )
    name = f"{stack}_layers.{builder.layer}.{part}"
    columns = "T" if stack == "decoder" and part == "self_attention" else "S"
    head_columns = slice(head * config.d_head, (head + 1) * config.d_head)
    values = {each: computed.values[f"{name}.{each}"][0, head] for each in ("queries", "keys", "values", "weights")}
    grads = {
        each: computed.gradients[f"{name}.{each}"][0, head]
        for each in ("queries", "keys", "values", "weights", "scores", "outputs")
    }
    output = computed.values[f"{name}.out_projection.weight"]  # [D, D], outputs by inputs
    read = builder.sublayer_input(part)
    key_input = computed.values["memory"][0] if part == "cross_attention" else read
    root = math.sqrt(config.d_head)

    def of_head(array: np.ndarray) -> np.ndarray:
        return array[0, head]

    def point(
        what: str, title: str, formula: str, letters: str, terms_of: Formula, masked: np.ndarray | None = None
    ) -> GradientStage:
        return builder.stage(what, title, formula, letters, f"{name}.{what}", terms_of, of_head, masked)

    yield builder.stage(
        "output",
        "output projection",
        r"dW^O = [O_1; \dots; O_H]^\top dy",
        "D, D",
        f"{name}.out_projection.weight",
        Product(("O", computed.values[f"{name}.joined"][0].T), ("dy", dy), rows),
    )
    yield builder.stage(
        "output_bias",
        "bias of the output projection",
        r"db^O = \sum_n dy_n",
        "1, D",
        f"{name}.out_projection.bias",
        ColumnSum({"dy": dy}, rows),
    )
    yield builder.stage(
        "joined",
        "all heads concatenated",
        r"d[O_1; \dots; O_H] = dy\, W^{O\top}",
        f"B, {rows}, D",
        f"{name}.joined",
        Product(("dy", dy), ("W^O", output), "D"),
    )
    yield point(
        "outputs",
        "output of the head",
        r"dO_h = dy\, W^{O\top}_h",
        f"B, {rows}, K",
        Product(("dy", dy), ("W^O", output[:, head_columns]), "D"),
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
        (("queries", "Q", read, rows), ("keys", "K", key_input, columns), ("values", "V", key_input, columns))
    ):
        back, d_one = "", grads[what]
        if angles is not None and letter != "V":
            back, d_one = r"R_p^\top\, ", turn(d_one, -angles)
        place = slice(number * config.d_model + head_columns.start, number * config.d_model + head_columns.stop)

        def projection(parameter: np.ndarray, place: slice = place) -> np.ndarray:
            return by_input(parameter[place])

        symbol = "m" if part == "cross_attention" and letter != "Q" else builder.input_symbol
        spoken = "m" if symbol == "m" else builder.input_name
        yield builder.stage(
            f"{what}_weight",
            f"weights of the {what}",
            rf"dW^{letter}_h = {symbol}^\top {back}d{letter}_h",
            "D, K",
            f"{name}.in_projection.weight",
            Product((spoken, by.T), (f"d{letter}", d_one), over),
            projection,
        )
        yield builder.stage(
            f"{what}_bias",
            f"bias of the {what}",
            rf"db^{letter}_h = \sum_n {back}d{letter}_{{h,n}}",
            "1, K",
            f"{name}.in_projection.bias",
            ColumnSum({f"d{letter}": d_one}, over),
            projection,
        )
    if config.norm == "pre":
        yield _input_gradient(builder, part)


def _input_gradient(builder: StageBuilder, part: Part) -> GradientStage:
    """Return the stage with the gradient of the attention input, summed over all heads."""
    computed, name = builder.gradients, f"{builder.stack}_layers.{builder.layer}.{part}"
    projections = np.split(computed.values[f"{name}.in_projection.weight"], 3)
    grads = {each: computed.gradients[f"{name}.{each}"] for each in ("queries", "keys", "values")}
    angles = relative_positions(computed.config, grads["queries"].shape[2]).angles
    if angles is not None and part == "self_attention":
        grads |= {each: turn(grads[each], -angles) for each in ("queries", "keys")}
    parts = {
        each: join_heads(grad)[0] @ weight for (each, grad), weight in zip(grads.items(), projections, strict=True)
    }
    # Break the formula into two lines, so that it fits into narrow columns.
    formula = r"d\hat{x} = \sum_h dQ_h W^{Q\top}_h \\ {} + \sum_h \left(dK_h W^{K\top}_h + dV_h W^{V\top}_h\right)"
    if part == "cross_attention":
        # In cross-attention, only the queries are computed from this input.
        parts, formula = {"queries": parts["queries"]}, r"d\hat{x} = \sum_h dQ_h W^{Q\top}_h"
    return builder.stage("read", "input of all heads", formula, f"B, {builder.rows}, D", f"{name}.read", Sum(parts))
