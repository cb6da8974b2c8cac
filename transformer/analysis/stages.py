"""The way of one sentence through the model, stage by stage, in the order in which people learn it.

Every stage has the name that the field has for it, its formula, its shape in letters, and the array itself. Letters: B
batch (1), S source pieces, T target pieces, H heads, D model width, K head width, F feed-forward width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from transformer.analysis.embedding import embedded_text
from transformer.analysis.prediction import prediction
from transformer.analysis.residual import PARTS, SubLayer, stack_output, sublayer
from transformer.config import Activation
from transformer.trace import Kind, Stack, Trace
from transformer.weights import Weights

ATTENTION: dict[Kind, str] = {
    "encoder": "multi-head self-attention",
    "decoder": "masked multi-head self-attention",
    "cross": "multi-head cross-attention",
}
ACTIVATIONS: dict[Activation, str] = {
    "relu": r"\mathrm{ReLU}", "gelu": r"\mathrm{GELU}", "silu": r"\mathrm{SiLU}",
}
NORM = r"\gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta"
HEADS = r"[A_1 V_1; \dots; A_H V_H]"


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of a run.

    Attributes:
        key: what it is called in an address; unique in a list of stages.
        stack: where it is; the generator counts as the decoder's.
        layer: of that stack, the first being 0; None before the first layer and after the last.
        name: the field's name of this part.
        formula: LaTeX, without dollar signs.
        letters: of the shape, such as "B, T, D".
        array: the numbers, in that shape.
    """

    key: str
    stack: Stack
    layer: int | None
    name: str
    formula: str
    letters: str
    array: np.ndarray


def stages(
    trace: Trace, weights: Weights, *, encoder_layer: int = 0, decoder_layer: int = 0, head: int = 0
) -> tuple[Stage, ...]:
    """All stages from the pieces to the predicted words.

    Args:
        trace: with details.
        weights: of the model that made it.
        encoder_layer, decoder_layer: the layers to go through stage by stage, the first being 0.
        head: whose queries, keys, values, scores and weights to take.
    """
    return (
        *_text(trace, weights, "encoder"),
        *_layer(trace, weights, "encoder", encoder_layer, head),
        *_output(trace, weights, "encoder"),
        *_text(trace, weights, "decoder"),
        *_layer(trace, weights, "decoder", decoder_layer, head),
        *_output(trace, weights, "decoder"),
        *_words(trace, weights),
    )


def _text(trace: Trace, weights: Weights, stack: Stack) -> Iterator[Stage]:
    """From pieces to the stream before the first layer."""
    text, rows = embedded_text(trace, weights, stack), _rows(stack)
    scaled = r"\sqrt{D}\, E_w" if weights.config.scale_embedding else "E_w"

    def stage(key: str, name: str, formula: str, letters: str, array: np.ndarray) -> Stage:
        return Stage(f"{stack}.{key}", stack, None, name, formula, letters, array)

    yield stage("pieces", "pieces", rf"w_1, \dots, w_{rows}", f"B, {rows}", text.pieces[None])
    yield stage("tokens", "token embedding", "E_w", f"B, {rows}, D", text.tokens[None])
    if weights.config.scale_embedding:
        yield stage("scaled", "token embedding, scaled", scaled, f"B, {rows}, D", text.scaled[None])
    if text.positions is not None:
        yield stage("positions", "positional encoding", _position_formula(weights), f"{rows}, D", text.positions)
        yield stage(
            "input", "token embedding + positional encoding", rf"x = {scaled} + PE", f"B, {rows}, D",
            text.total[None],
        )


def _layer(trace: Trace, weights: Weights, stack: Stack, layer: int, head: int) -> Iterator[Stage]:
    """All sub-layers of one layer."""
    pre, rows = weights.config.norm == "pre", _rows(stack)
    for number, part in enumerate(PARTS[stack]):
        found = sublayer(trace, weights, stack, layer, part)
        if number == 0:
            yield _stage(found, "stream", "residual stream", "x", f"{rows}, D", found.before)
        if pre:
            yield _stage(
                found, "norm", "layer normalisation", rf"\hat{{x}} = {NORM}", f"{rows}, D", found.norm.after
            )
        if part == "feed_forward":
            yield from _feed_forward(found, weights)
        else:
            yield from _attention(trace, weights, found, head)
        name = "FFN" if part == "feed_forward" else "MultiHead"
        added = rf"x + \mathrm{{{name}}}({_read(weights)})"
        # What the model itself handed on, where it is the sum that is handed on.
        yield _stage(
            found, "residual", "residual connection", added, f"{rows}, D", found.after if pre else found.summed
        )
        if not pre:
            formula = rf"\mathrm{{LayerNorm}}({added}), \quad \mathrm{{LayerNorm}}(x) = {NORM}"
            yield _stage(found, "norm", "layer normalisation", formula, f"{rows}, D", found.after)


def _attention(trace: Trace, weights: Weights, found: SubLayer, head: int) -> Iterator[Stage]:
    """One head from its queries to its output, then all heads."""
    kind: Kind = "cross" if found.part == "cross_attention" else found.stack
    rows, columns = _rows(found.stack), "T" if kind == "decoder" else "S"
    name = ATTENTION[kind]
    if kind == "decoder" and not trace.options.decoder_mask:
        name += " without its mask"
    read = _read(weights)
    looked_at = "m" if kind == "cross" else read
    scaled = r"\frac{Q_h K_h^\top}{\sqrt{K}}"

    def detail(name: str) -> np.ndarray:
        return trace.details[f"{kind}_{name}"][found.layer]

    def stage(key: str, name: str, formula: str, letters: str, array: np.ndarray) -> Stage:
        return _stage(found, key, name, formula, letters, array)

    queries, keys, scores = detail("queries")[head], detail("keys")[head], detail("scores")[head]
    yield stage("queries", "queries of a head", rf"Q_h = {read} W^Q_h + b^Q_h", f"{rows}, K", queries)
    yield stage("keys", "keys of a head", rf"K_h = {looked_at} W^K_h + b^K_h", f"{columns}, K", keys)
    yield stage(
        "values", "values of a head", rf"V_h = {looked_at} W^V_h + b^V_h", f"{columns}, K", detail("values")[head]
    )
    yield stage(
        "raw_scores", "dot products", r"Q_h K_h^\top", f"{rows}, {columns}",
        queries.astype(np.float64) @ keys.astype(np.float64).T,
    )
    yield stage("scores", "scaled scores", scaled, f"{rows}, {columns}", scores)
    yield stage(
        "masked_scores", "masked scores", rf"{scaled} + M, \quad M_{{ij}} \in \{{0, -\infty\}}",
        f"{rows}, {columns}", np.where(trace.mask(kind), scores, -np.inf),
    )
    yield stage(
        "weights", "attention weights", rf"A_h = \mathrm{{softmax}}\left({scaled} + M\right)",
        f"{rows}, {columns}", trace.attention(kind)[found.layer, head],
    )
    yield stage("head", "scaled dot-product attention", "A_h V_h", f"{rows}, K", detail("outputs")[head])
    # [H, rows, K] to [rows, H * K]: what the model multiplies with W^O.
    joined = detail("outputs").swapaxes(0, 1).reshape(len(queries), -1)
    yield stage("heads", "all heads joined", HEADS, f"{rows}, D", joined)
    yield stage(
        "written", f"{name}, output projection", rf"{HEADS}\, W^O + b^O", f"{rows}, D", found.written
    )


def _feed_forward(found: SubLayer, weights: Weights) -> Iterator[Stage]:
    rows = _rows(found.stack)
    hidden = rf"{ACTIVATIONS[weights.config.activation]}({_read(weights)} W_1 + b_1)"
    yield _stage(
        found, "hidden", "feed-forward network, hidden layer", hidden, f"{rows}, F", found.network.hidden
    )
    yield _stage(
        found, "written", "position-wise feed-forward network", rf"{hidden}\, W_2 + b_2", f"{rows}, D",
        found.written,
    )


def _output(trace: Trace, weights: Weights, stack: Stack) -> Iterator[Stage]:
    """What the stack hands on after its last layer."""
    symbol = "m" if stack == "encoder" else "y"
    formula = rf"{symbol} = {NORM}" if weights.config.norm == "pre" else rf"{symbol} = x"
    yield Stage(
        f"{stack}.output", stack, None, f"{stack} output", formula, f"B, {_rows(stack)}, D",
        stack_output(trace, weights, stack)[None],
    )


def _words(trace: Trace, weights: Weights) -> Iterator[Stage]:
    """From the decoder's output to the words."""
    found = prediction(trace, weights)
    bias = r" + b" if weights.config.output_bias else ""
    for key, name, formula, letters, array in (
        ("logits", "generator (linear)", rf"z = y W^\top{bias}", "B, T, V", found.logits),
        ("probabilities", "generator (softmax)", r"p = \mathrm{softmax}(z)", "B, T, V", found.probabilities),
        ("words", "likeliest next piece", r"\hat{w}_{t+1} = \arg\max_v\, p_{t,v}", "B, T", found.likeliest),
    ):
        yield Stage(f"generator.{key}", "decoder", None, name, formula, letters, array[None])


def _stage(found: SubLayer, key: str, name: str, formula: str, letters: str, array: np.ndarray) -> Stage:
    """A stage of a sub-layer; `letters` and `array` without the batch."""
    return Stage(
        f"{found.stack}.{found.part}.{key}", found.stack, found.layer, name, formula, f"B, {letters}", array[None]
    )


def _rows(stack: Stack) -> str:
    return "S" if stack == "encoder" else "T"


def _read(weights: Weights) -> str:
    """What a sub-layer reads: the normalised stream in pre-norm, the stream itself in post-norm."""
    return r"\hat{x}" if weights.config.norm == "pre" else "x"


def _position_formula(weights: Weights) -> str:
    if weights.config.positions == "learned":
        return r"PE_{p}"
    sine, cosine = (
        ("i", "D/2+i") if weights.config.positions == "sinusoidal_halves" else ("2i", "2i+1")
    )
    angle = r"\left(p \cdot 10000^{-2i/D}\right)"
    return rf"PE_{{p,{sine}}} = \sin{angle}, \quad PE_{{p,{cosine}}} = \cos{angle}"
