import numpy as np
import pytest
import torch

from transformer.analysis.replay.residual import stack_output, stream_sizes, sublayer
from transformer.model.attention import AttentionContext
from transformer.model.masks import causal_mask
from transformer.values.trace import PARTS


def of_the_model(model, layer, part, x, memory):
    """Return the input and output of a sub-layer, computed by the model's own modules."""
    residual = getattr(layer, f"{part}_residual")
    read = residual.norm(x) if residual.pre else x
    if part == "feed_forward":
        return read, layer.feed_forward(read)
    attention = getattr(layer, part)
    if part == "cross_attention":
        return read, attention(read, attention.project_keys_and_values(memory))
    relative = model.source_positions.relative(x.shape[1])
    mask = causal_mask(x.shape[1]) if hasattr(layer, "cross_attention") else None
    return read, attention(read, AttentionContext(mask, relative))


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_recomputed_sublayers_match_the_model(shaped_translator, shaped_trace, stack):
    model, weights = shaped_translator._model, shaped_translator.weights()
    source = torch.tensor([[token.id for token in shaped_trace.source_tokens]])
    memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
    stream = shaped_trace.residual_stream(stack)
    at = 0
    for number, layer in enumerate(model.encoder_layers if stack == "encoder" else model.decoder_layers):
        for part in PARTS[stack]:
            found = sublayer(shaped_trace, weights, stack, number, part)
            read, written = of_the_model(model, layer, part, torch.tensor(stream[at : at + 1]), memory)
            np.testing.assert_allclose(found.read, read[0].numpy(), atol=1e-5)
            np.testing.assert_allclose(found.written, written[0].numpy(), atol=1e-5)
            assert np.array_equal(found.before, stream[at]) and np.array_equal(found.after, stream[at + 1])
            np.testing.assert_allclose(found.before + found.written, found.summed)
            pre = weights.config.norm == "pre"
            np.testing.assert_allclose(found.summed if pre else found.normed, found.after, atol=1e-5)
            assert np.array_equal(found.norm_before, found.before if pre else found.summed)
            assert (found.hidden is None) == (part != "feed_forward")
            at += 1
    assert at == len(stream) - 1


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_residual_sizes_are_norms_of_the_residual_stream_and_sublayer_outputs(replayed, stack):
    if stack not in replayed.trace.stacks:
        return
    sizes = stream_sizes(replayed.trace, replayed.weights, stack)
    stream = replayed.trace.residual_stream(stack)
    np.testing.assert_allclose(sizes.stream, np.sqrt((stream.astype(float) ** 2).sum(-1)))
    assert sizes.written.shape == (len(stream) - 1, stream.shape[1])
    if replayed.weights.config.norm == "pre":
        np.testing.assert_allclose(sizes.written, np.linalg.norm(np.diff(stream, axis=0), axis=-1), atol=1e-4)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_recomputed_stack_output_matches_the_model(shaped_translator, shaped_trace, stack):
    model = shaped_translator._model
    last = torch.tensor(shaped_trace.residual_stream(stack)[-1])
    expected = (model.encoder_norm if stack == "encoder" else model.decoder_norm)(last)
    found = stack_output(shaped_trace, shaped_translator.weights(), stack)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)
