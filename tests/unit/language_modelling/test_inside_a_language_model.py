"""The forward pass of a language model recomputed in numpy. Every stage equals the model's records and the results of
its own parts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from transformer.analysis.replay.cell import cell
from transformer.analysis.replay.contributions import contributions
from transformer.analysis.replay.identifiability import head_identifiability
from transformer.analysis.replay.residual import stream_sizes
from transformer.analysis.replay.stages import stages
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.gpt2 import read_gpt2
from transformer.checkpoints.huggingface_files import HuggingFaceFolder
from transformer.config import decoder_only
from transformer.language_modelling.tracing import trace_text, trace_unmasked
from transformer.model.recorder import Recorder
from transformer.model.transformer import build

TEXT = "the house is small and the house is big."
LAYER, HEAD = 1, 2
# Together they have every option that changes the computation inside a layer.
SHAPES = {
    "gpt2": {},
    "post": {"norm": "post", "positions": "sinusoidal", "activation": "relu", "scale_embedding": True},
    "plain": {"positions": "none", "activation": "silu", "scale_embedding": True},
}


@pytest.fixture(scope="module", params=SHAPES)
def loaded(request, sentencepiece_tokenizer, gpt2_folder, huggingface, tmp_path_factory):
    """Load the models in double precision, so that the two can agree to a millionth at any size of the numbers."""
    if request.param == "gpt2":
        found = read_gpt2(HuggingFaceFolder(gpt2_folder))
        model, tokenizer = found.model, found.tokenizer
    else:
        torch.manual_seed(3)
        tokenizer = sentencepiece_tokenizer
        model = (
            build(
                decoder_only(vocabulary=tokenizer.size, d_model=24, heads=4, layers=3, d_ff=40, **SHAPES[request.param])
            )
            .eval()
            .requires_grad_(False)
        )
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    model.double()
    return Checkpoint(model, tokenizer, version="test", folder=tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def trace(loaded):
    return trace_text(loaded, TEXT)[1]


@pytest.fixture(scope="module")
def found(loaded, trace):
    return {stage.key: stage for stage in stages(trace, loaded.weights(), decoder_layer=LAYER, head=HEAD)}


@pytest.fixture(scope="module")
def again(loaded, trace):
    """Return the records and the logits of the model's own forward pass."""
    record = Recorder(details=True)
    logits = loaded.model(None, torch.tensor([[token.id for token in trace.target_tokens]]), record=record)
    return record.tensors, logits


def same(ours, theirs):
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-6, atol=1e-6)


def test_stages_belong_to_one_stack_without_a_source(loaded, trace, found):
    config = loaded.model.config
    assert trace.stacks == ("decoder",) and trace.parts("decoder") == ("self_attention", "feed_forward")
    order = list(found)
    assert order[0] == "decoder.pieces" and order[-1] == "generator.words"
    assert not [key for key in order if "cross" in key or key.startswith("encoder")]
    assert ("decoder.positions" in found) == (config.positions != "none")
    sizes = {
        "B": 1,
        "T": len(trace.target_tokens),
        "D": config.d_model,
        "K": config.d_head,
        "F": config.d_ff,
        "V": config.target_vocabulary,
    }
    for stage in found.values():
        assert stage.array.shape == tuple(sizes[letter] for letter in stage.letters.split(", ")), stage.key
        assert not {"encoder", "decoder"} & set(stage.name.split())


def test_input_and_output_stages_equal_the_model(loaded, found, again):
    tensors, logits = again
    config = loaded.model.config
    way_in = found["decoder.scaled" if config.scale_embedding else "decoder.tokens"].array
    if config.positions != "none":
        way_in = way_in + found["decoder.positions"].array
    same(way_in, tensors["decoder.residual"][0])
    same(found["decoder.output"].array, loaded.model.decoder_norm(tensors["decoder.residual"][-1]))
    # These stages use single precision, as a model in use does.
    np.testing.assert_allclose(found["generator.logits"].array, logits.numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["generator.probabilities"].array, logits.softmax(-1).numpy(), atol=1e-5)
    assert np.array_equal(found["generator.words"].array, logits.argmax(-1).numpy())
    assert found["generator.logits"].formula == r"z = y E^\top", "the table of the first step, once more"


def test_stages_of_a_layer_equal_the_model(loaded, trace, found, again):
    tensors, _ = again
    layer, pre = loaded.model.decoder_layers[LAYER], loaded.model.config.norm == "pre"
    stream = tensors["decoder.residual"][2 * LAYER :]
    same(found["decoder.self_attention.stream"].array, stream[0])
    for name in ("queries", "keys", "values", "scores", "weights"):
        same(found[f"decoder.self_attention.{name}"].array, tensors[f"decoder.{name}"][LAYER][:, HEAD])
    outputs = tensors["decoder.outputs"][LAYER]
    same(found["decoder.self_attention.head"].array, outputs[:, HEAD])
    joined = outputs.transpose(1, 2).flatten(2)
    same(found["decoder.self_attention.heads"].array, joined)
    same(found["decoder.self_attention.written"].array, layer.self_attention.out_projection(joined))
    masked = found["decoder.self_attention.masked_scores"].array[0]
    assert np.isneginf(masked[~trace.decoder_mask]).all() and np.isfinite(masked[trace.decoder_mask]).all()
    for part, before, after in zip(("self_attention", "feed_forward"), stream, stream[1:], strict=False):
        residual = getattr(layer, f"{part}_residual")
        if part == "feed_forward":
            read = residual.norm(before) if pre else before
            network = layer.feed_forward
            same(found["decoder.feed_forward.hidden"].array, network.activation(network.expand(read)))
            same(found["decoder.feed_forward.written"].array, network(read))
        summed = found[f"decoder.{part}.residual"].array
        np.testing.assert_allclose(
            summed, before.numpy() + found[f"decoder.{part}.written"].array, rtol=1e-6, atol=1e-6
        )
        same(found[f"decoder.{part}.norm"].array, residual.norm(before) if pre else after)
        same(found[f"decoder.{part}.{'residual' if pre else 'norm'}"].array, after)


def test_cell_and_its_row_match_the_model(loaded, trace):
    weights = loaded.weights()
    at = LAYER, HEAD, 7, 3
    one, whole = cell(trace, weights, "decoder", *at), contributions(trace, weights, "decoder", LAYER)
    assert one.weight == trace.decoder[at]
    assert one.products.sum() / one.divisor == pytest.approx(one.score, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(one.exponentials / one.exponentials.sum(), one.weights, atol=1e-6)
    np.testing.assert_allclose(one.weighted_values.sum(axis=0), one.output, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(whole.terms(7)[HEAD, 3], one.term)
    assert head_identifiability(trace, weights, "decoder", LAYER, HEAD).visible.tolist() == list(
        range(1, len(trace.target_tokens) + 1)
    )


def test_residual_sizes_are_norms_of_the_stream_and_sublayer_output(loaded, trace, again):
    sizes = stream_sizes(trace, loaded.weights(), "decoder")
    stream = torch.cat(again[0]["decoder.residual"]).numpy()
    np.testing.assert_allclose(sizes.stream, np.linalg.norm(stream, axis=-1), rtol=1e-6)
    assert sizes.written.shape == (2 * 3, stream.shape[1])
    if loaded.model.config.norm == "pre":
        np.testing.assert_allclose(sizes.written, np.linalg.norm(np.diff(stream, axis=0), axis=-1), rtol=1e-5)


def test_every_row_attends_to_later_tokens_without_the_mask(loaded, trace):
    unmasked = trace_unmasked(loaded, trace)
    assert unmasked.decoder_mask.all() and not unmasked.interventions.decoder_mask
    assert (unmasked.decoder[:, :, 0, 1:] > 0).all() and unmasked.predicted_tokens == trace.predicted_tokens
    # Before the first attention no token sees another.
    np.testing.assert_array_equal(unmasked.detail("decoder", "scores")[0], trace.detail("decoder", "scores")[0])
    assert not np.allclose(unmasked.log_probs, trace.log_probs)
    listed = {stage.key: stage for stage in stages(unmasked, loaded.weights())}
    assert listed["decoder.self_attention.written"].name.startswith("masked multi-head self-attention without its mask")
    assert trace_text(loaded, TEXT)[1].equals(trace), "the next run is masked as before"


def test_trace_names_its_model(trace):
    assert trace.text == trace.target_text
    assert replace(trace, source_text="x", source_tokens=trace.target_tokens).text == "x"
