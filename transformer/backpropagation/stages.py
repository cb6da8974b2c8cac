"""Stages of the backward pass: from the loss, through one decoder and one encoder layer, to the embeddings.

The order is the reverse of `transformer.analysis.replay.stages`. dX is short for the gradient of the loss with respect
to X.
"""

import math
from collections.abc import Iterator

import numpy as np

from transformer.backpropagation.cross_entropy import cross_entropy
from transformer.backpropagation.sentence import SentenceGradients
from transformer.backpropagation.stage import GradientStage, StageBuilder
from transformer.backpropagation.sublayer_stages import NORM, norm_parameters, norm_terms, sublayer
from transformer.backpropagation.sums import Pointwise, Product, Sum
from transformer.backpropagation.transformer import SHARED_PARAMETERS
from transformer.values.trace import PARTS, SIDES, Stack

EMBEDDING_TITLES = {"source": "from the sentence", "target": "from the translation"}
GENERATOR_TITLE = "from the generator"


def stages(computed: SentenceGradients, *, head: int = 0) -> tuple[GradientStage, ...]:
    """Return all stages, from the logits back to the tokens.

    Args:
        computed: gradients, which also determine the layers to show.
        head: 0-based head to show.
    """
    builder = StageBuilder(computed, head)
    return (*_generator(builder), *_stack(builder, "decoder"), *_stack(builder, "encoder"))


def _generator(builder: StageBuilder) -> Iterator[GradientStage]:
    computed, batch = builder.gradients, builder.gradients.batch
    _, saved = cross_entropy(computed.values["logits"], batch.labels, batch.counted, batch.label_smoothing)
    counted = batch.counted[0, :, None]
    d_logits, hidden = computed.gradients["logits"][0], computed.values["hidden"][0]
    yield builder.stage(
        "logits",
        "logits",
        r"dz = p - y",
        "B, T, V",
        "logits",
        Sum({"p": saved.probabilities[0] * counted, "− y": -saved.targets[0] * counted}),
    )
    if computed.config.output_bias:
        tokens = list(computed.rows["generator.bias"])
        yield builder.table(
            "bias",
            "bias of the generator",
            r"db = \sum_t dz_t",
            "N, 1",
            "generator.bias",
            Product(("dz", d_logits[:, tokens].T), ("1", np.ones((len(hidden), 1))), "T"),
        )
    if computed.config.tied_embeddings == "none":
        tokens = list(computed.rows["generator.weight"])
        yield builder.table(
            "weight",
            "weights of the generator",
            r"dW = dz^\top y",
            "N, D",
            "generator.weight",
            Product(("dz", d_logits[:, tokens].T), ("y", hidden), "T"),
        )
    yield builder.stage(
        "hidden",
        "decoder output",
        r"dy = dz\, W",
        "B, T, D",
        "hidden",
        Product(("dz", d_logits), ("W", computed.generator), "V"),
    )


def _stack(builder: StageBuilder, stack: Stack) -> Iterator[GradientStage]:
    computed, config = builder.gradients, builder.gradients.config
    layer, depth = (
        (computed.layers[0], config.encoder_layers)
        if stack == "encoder"
        else (computed.layers[1], config.decoder_layers)
    )
    builder = builder.at(stack, stack)
    rows, side = builder.rows, SIDES[stack]
    if stack == "encoder":
        yield builder.stage(
            "memory",
            "encoder output",
            r"dm = \sum_\ell \left(dK_\ell W^K_\ell{}^\top + "
            r"dV_\ell W^V_\ell{}^\top\right)",
            f"B, {rows}, D",
            "memory",
            Sum({f"decoder layer {number + 1}": each for number, each in enumerate(computed.memory_gradients)}),
        )
    last = f"{stack}_layers.{depth - 1}.feed_forward.after"
    if config.norm == "pre":
        d_output = computed.gradients["memory" if stack == "encoder" else "hidden"][0]
        yield from norm_parameters(builder.at(f"{stack}.output", stack), f"{stack}_norm", last, d_output)
        yield builder.stage(
            "output.norm",
            "stream after the last layer",
            rf"dx = {NORM}",
            f"B, {rows}, D",
            last,
            Sum(norm_terms(builder, f"{stack}_norm", last, d_output)),
        )
    after = f"{stack}_layers.{layer}.feed_forward.after"
    if after != last:
        yield builder.at(stack, stack, layer).stage(
            "layer.after",
            f"stream after layer {layer + 1}",
            rf"dx = \text{{gradient from layer {layer + 2}}}",
            f"B, {rows}, D",
            after,
            None,
        )
    for part in reversed(PARTS[stack]):
        yield from sublayer(builder, stack, layer, part)
    if layer:
        yield builder.stage(
            "input",
            "embeddings and positions",
            r"dx = \text{gradient from layer 1}",
            f"B, {rows}, D",
            f"{side}.input",
            None,
        )
    if config.embedding_norm:
        read = computed.gradients[f"{side}.input"][0]
        yield from norm_parameters(builder.at(f"{stack}.input", stack), f"{side}_norm", f"{side}.summed", read)
        yield builder.stage(
            "summed",
            "embeddings and positions, not normalised",
            rf"dx = {NORM}",
            f"B, {rows}, D",
            f"{side}.summed",
            Sum(norm_terms(builder, f"{side}_norm", f"{side}.summed", read)),
        )
    d_input = computed.gradients[f"{side}.summed"][0]
    if config.position_limit is not None:
        length = len(d_input)
        yield builder.stage(
            "positions",
            "learned positions",
            r"dP_n = dx_n",
            f"{rows}, D",
            f"{side}_positions.table",
            Sum({"dx": d_input}),
            lambda a: a[:length],
        )
    if config.scale_embedding:
        root = np.full_like(d_input, math.sqrt(config.d_model))
        yield builder.stage(
            "tokens",
            "token embedding",
            r"dE_{w_n} = \sqrt{D}\, dx_n",
            f"B, {rows}, D",
            f"{side}.tokens",
            Pointwise({"dx": d_input, "√D": root}),
        )
    yield from _embedding_table(builder, stack)


def _embedding_table(builder: StageBuilder, stack: Stack) -> Iterator[GradientStage]:
    """Yield the stage with the gradients of the embedding table, limited to the sentence pair's tokens.

    If the table is shared with the other stack or the generator, the stage covers all uses.
    """
    computed, tied = builder.gradients, SHARED_PARAMETERS[builder.gradients.config.tied_embeddings]
    name = f"{SIDES[stack]}_embedding.weight"
    if name in tied:
        return
    uses = [name, *(use for use, table in tied.items() if table == name)]
    parts = {}
    for side, ids in (("source", computed.batch.source), ("target", computed.batch.target)):
        if f"{side}_embedding.weight" in uses:
            # [N, positions] x [positions, D]: each table row gets the sum over all positions with the row's token.
            places = np.equal.outer(computed.rows[name], ids[0]).astype(float)
            parts[EMBEDDING_TITLES[side]] = places @ computed.gradients[f"{side}.tokens"][0]
    if "generator.weight" in uses:
        parts[GENERATOR_TITLE] = (
            computed.gradients["logits"][0][:, list(computed.rows[name])].T @ computed.values["hidden"][0]
        )
    yield builder.table(
        "table",
        "embedding table",
        r"dE_v = \sum_{n:\, w_n = v} dE_{w_n}" + (r" + dz_v^\top y" if GENERATOR_TITLE in parts else ""),
        "N, D",
        name,
        Sum(parts),
    )
