"""Splits a forward pass into named stages, in textbook order.

Each stage has a name, a formula, a shape in letters, and an array. Letters: B batch (1), S source tokens, T target
tokens, H heads, D model width, K head width, F feed-forward width, V vocabulary.
"""

from collections.abc import Iterator

import numpy as np

from transformer.analysis.replay.cell import relative_of
from transformer.analysis.replay.embedding import embedded_text
from transformer.analysis.replay.prediction import prediction
from transformer.analysis.replay.residual import SubLayer, stack_output, sublayer
from transformer.backpropagation.notes import Stage, length_letter
from transformer.config import Activation
from transformer.model.encodings import ENCODINGS, turn
from transformer.values.trace import Detail, Kind, Stack, Trace
from transformer.values.weights import Weights

ATTENTION: dict[Kind, str] = {
    "encoder": "multi-head self-attention",
    "decoder": "masked multi-head self-attention",
    "cross": "multi-head cross-attention",
}
ACTIVATIONS: dict[Activation, str] = {
    "relu": r"\mathrm{ReLU}",
    "gelu": r"\mathrm{GELU}",
    "gelu_tanh": r"\mathrm{GELU}_{\tanh}",
    "silu": r"\mathrm{SiLU}",
}
NORM = r"\gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta"
HEADS = r"[A_1 V_1; \dots; A_H V_H]"


def stages(
    trace: Trace, weights: Weights, *, encoder_layer: int = 0, decoder_layer: int = 0, head: int = 0
) -> tuple[Stage, ...]:
    """Return the stages of a forward pass, from token ids to predicted tokens.

    Args:
        trace: trace with details.
        weights: weights of the model that made the trace.
        encoder_layer, decoder_layer: 0-based layers to show in detail.
        head: 0-based head to show in detail, from queries to output.
    """
    layers = {"encoder": encoder_layer, "decoder": decoder_layer}
    stage_list = []
    for stack in trace.stacks:
        stage_list += [
            *_embedding_stages(trace, weights, stack),
            *_layer_stages(trace, weights, stack, layers[stack], head),
            *_output_stages(trace, weights, stack),
        ]
    return (*stage_list, *_prediction_stages(trace, weights))


def _embedding_stages(trace: Trace, weights: Weights, stack: Stack) -> Iterator[Stage]:
    text, rows = embedded_text(trace, weights, stack), length_letter(stack)
    scaled = r"\sqrt{D}\, E_w" if weights.config.scale_embedding else "E_w"

    def stage(key: str, name: str, formula: str, letters: str, array: np.ndarray) -> Stage:
        return Stage(f"{stack}.{key}", stack, None, name, formula, letters, array)

    # The key `pieces`, an older word for tokens, is kept because existing URLs contain it.
    yield stage("pieces", "tokens", rf"w_1, \dots, w_{rows}", f"B, {rows}", text.ids[None])
    yield stage("tokens", "token embedding", "E_w", f"B, {rows}, D", text.tokens[None])
    if weights.config.scale_embedding:
        yield stage("scaled", "token embedding, scaled", scaled, f"B, {rows}, D", text.scaled[None])
    if text.positions is not None:
        formula = ENCODINGS[weights.config.positions].formula
        yield stage("positions", "positional encoding", formula, f"{rows}, D", text.positions)
    if text.positions is not None or weights.config.embedding_norm:
        name = "token embedding" + " + positional encoding" * (text.positions is not None)
        summed = scaled + " + PE" * (text.positions is not None)
        if weights.config.embedding_norm:
            name = f"{name}, normalised"
            summed = rf"\mathrm{{LayerNorm}}({summed}), \quad \mathrm{{LayerNorm}}(x) = {NORM}"
        yield stage("input", name, rf"x = {summed}", f"B, {rows}, D", text.total[None])


def _layer_stages(trace: Trace, weights: Weights, stack: Stack, layer: int, head: int) -> Iterator[Stage]:
    pre, rows = weights.config.norm == "pre", length_letter(stack)
    for number, part in enumerate(trace.parts(stack)):
        replayed = sublayer(trace, weights, stack, layer, part)
        if number == 0:
            yield _stage(replayed, "stream", "residual stream", "x", f"{rows}, D", replayed.before)
        if pre:
            yield _stage(replayed, "norm", "layer normalisation", rf"\hat{{x}} = {NORM}", f"{rows}, D", replayed.normed)
        if replayed.hidden is not None:
            yield from _feed_forward_stages(replayed, replayed.hidden, weights)
        else:
            yield from _attention_stages(trace, weights, replayed, head)
        name = "FFN" if part == "feed_forward" else "MultiHead"
        added = rf"x + \mathrm{{{name}}}({_input_symbol(weights)})"
        # In pre-norm models, the sum is the residual stream after the sub-layer, so take it from the trace.
        yield _stage(
            replayed, "residual", "residual connection", added, f"{rows}, D", replayed.after if pre else replayed.summed
        )
        if not pre:
            formula = rf"\mathrm{{LayerNorm}}({added}), \quad \mathrm{{LayerNorm}}(x) = {NORM}"
            yield _stage(replayed, "norm", "layer normalisation", formula, f"{rows}, D", replayed.after)


def _attention_stages(trace: Trace, weights: Weights, part: SubLayer, head: int) -> Iterator[Stage]:
    """Yield the stages of one head, from queries to output, and then the stages of the concatenated heads."""
    kind: Kind = "cross" if part.part == "cross_attention" else part.stack
    rows, columns = length_letter(part.stack), "T" if kind == "decoder" else "S"
    name = ATTENTION[kind]
    if kind == "decoder" and not trace.interventions.decoder_mask:
        name += " (mask switched off)"
    read = _input_symbol(weights)
    looked_at = "m" if kind == "cross" else read
    scaled = r"\frac{Q_h K_h^\top}{\sqrt{K}}"
    relative = relative_of(trace, weights, kind)
    position_formula = ENCODINGS[weights.config.positions].formula

    def detail(name: Detail) -> np.ndarray:
        return trace.detail(kind, name)[part.layer]

    def stage(key: str, name: str, formula: str, letters: str, array: np.ndarray) -> Stage:
        return _stage(part, key, name, formula, letters, array)

    queries, keys, scores = detail("queries")[head], detail("keys")[head], detail("scores")[head]
    for key, letter, source, array, letters in (
        ("queries", "Q", read, queries, rows),
        ("keys", "K", looked_at, keys, columns),
    ):
        name_of, formula = f"{key} of a head", rf"{source} W^{letter}_h + b^{letter}_h"
        if relative.angles is not None:
            yield stage(
                f"unturned_{key}",
                f"{name_of}, before rotation",
                rf"{letter}'_h = {formula}",
                f"{letters}, K",
                turn(array.astype(np.float64), -relative.angles),
            )
            name_of, formula = f"{name_of}, rotated", rf"R_p {letter}'_h, \quad {position_formula}"
        yield stage(key, name_of, rf"{letter}_h = {formula}", f"{letters}, K", array)
    yield stage(
        "values", "values of a head", rf"V_h = {looked_at} W^V_h + b^V_h", f"{columns}, K", detail("values")[head]
    )
    yield stage(
        "raw_scores",
        "dot products",
        r"Q_h K_h^\top",
        f"{rows}, {columns}",
        queries.astype(np.float64) @ keys.astype(np.float64).T,
    )
    if relative.biases is not None:
        yield stage("biases", "linear biases", position_formula, f"{rows}, {columns}", relative.biases[head])
        scaled += f" {position_formula}"
    yield stage("scores", "scaled scores", scaled, f"{rows}, {columns}", scores)
    yield stage(
        "masked_scores",
        "masked scores",
        rf"{scaled} + M, \quad M_{{ij}} \in \{{0, -\infty\}}",
        f"{rows}, {columns}",
        np.where(trace.mask(kind), scores, -np.inf),
    )
    yield stage(
        "weights",
        "attention weights",
        rf"A_h = \mathrm{{softmax}}\left({scaled} + M\right)",
        f"{rows}, {columns}",
        trace.attention(kind)[part.layer, head],
    )
    yield stage("head", "scaled dot-product attention", "A_h V_h", f"{rows}, K", detail("outputs")[head])
    # Reorder [H, rows, K] to [rows, H * K], the input of the output projection W^O.
    joined = detail("outputs").swapaxes(0, 1).reshape(len(queries), -1)
    yield stage("heads", "all heads concatenated", HEADS, f"{rows}, D", joined)
    yield stage("written", f"{name}, output projection", rf"{HEADS}\, W^O + b^O", f"{rows}, D", part.written)


def _feed_forward_stages(part: SubLayer, hidden: np.ndarray, weights: Weights) -> Iterator[Stage]:
    rows = length_letter(part.stack)
    formula = rf"{ACTIVATIONS[weights.config.activation]}({_input_symbol(weights)} W_1 + b_1)"
    yield _stage(part, "hidden", "feed-forward network, hidden layer", formula, f"{rows}, F", hidden)
    yield _stage(
        part, "written", "position-wise feed-forward network", rf"{formula}\, W_2 + b_2", f"{rows}, D", part.written
    )


def _output_stages(trace: Trace, weights: Weights, stack: Stack) -> Iterator[Stage]:
    symbol, pre = "m" if stack == "encoder" else "y", weights.config.norm == "pre"
    formula = rf"{symbol} = {NORM}" if pre else rf"{symbol} = x"
    if len(trace.stacks) > 1:
        name = f"{stack} output"
    else:
        name = "final layer normalisation" if pre else "output of the last layer"
    yield Stage(
        f"{stack}.output",
        stack,
        None,
        name,
        formula,
        f"B, {length_letter(stack)}, D",
        stack_output(trace, weights, stack)[None],
    )


def _prediction_stages(trace: Trace, weights: Weights) -> Iterator[Stage]:
    predicted = prediction(trace, weights)
    bias = r" + b" if weights.config.output_bias else ""
    # With tied embeddings, the output matrix is the target embedding table E; otherwise, it is a separate matrix W.
    matrix = "W" if weights.config.tied_embeddings == "none" else "E"
    for key, name, formula, letters, array in (
        ("logits", "generator (linear)", rf"z = y {matrix}^\top{bias}", "B, T, V", predicted.logits),
        ("probabilities", "generator (softmax)", r"p = \mathrm{softmax}(z)", "B, T, V", predicted.probabilities),
        ("words", "most likely next token", r"\hat{w}_{t+1} = \arg\max_v\, p_{t,v}", "B, T", predicted.likeliest),
    ):
        yield Stage(f"generator.{key}", "decoder", None, name, formula, letters, array[None])


def _stage(part: SubLayer, key: str, name: str, formula: str, letters: str, array: np.ndarray) -> Stage:
    """Return a sub-layer's stage, with a batch dimension added to `letters` and `array`."""
    return Stage(f"{part.stack}.{part.part}.{key}", part.stack, part.layer, name, formula, f"B, {letters}", array[None])


def _input_symbol(weights: Weights) -> str:
    """Return the symbol for a sub-layer's input: the normalised stream in pre-norm, the stream itself in post-norm."""
    return r"\hat{x}" if weights.config.norm == "pre" else "x"
