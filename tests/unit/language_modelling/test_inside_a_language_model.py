"""Checks which stages a language model has. tests/unit/analysis/replay compares stage values with the model."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from transformer.analysis.replay.cell import cell
from transformer.analysis.replay.contributions import contributions
from transformer.analysis.replay.identifiability import head_identifiability
from transformer.analysis.replay.stages import stages
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.gpt2 import read_gpt2
from transformer.checkpoints.huggingface_files import HuggingFaceFolder
from transformer.config import decoder_only
from transformer.language_modelling.tracing import trace_reading, trace_text
from transformer.model.transformer import build
from transformer.values.interventions import Interventions

TEXT = "the house is small and the house is big."
LAYER, HEAD = 1, 2
# Together, these models cover every option that changes the computation inside a layer.
SHAPES = {
    "gpt2": {},
    "post": {"norm": "post", "positions": "sinusoidal", "activation": "relu", "scale_embedding": True},
    "plain": {"positions": "none", "activation": "silu", "scale_embedding": True},
}


@pytest.fixture(scope="module", params=SHAPES)
def loaded(request, sentencepiece_tokenizer, gpt2_folder, huggingface, tmp_path_factory):
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


def test_language_model_has_only_decoder_stages(loaded, trace, found):
    config = loaded.model.config
    assert trace.stacks == ("decoder",) and trace.parts("decoder") == ("self_attention", "feed_forward")
    order = list(found)
    assert order[0] == "decoder.pieces" and order[-1] == "generator.words"
    assert not [key for key in order if "cross" in key or key.startswith("encoder")]
    assert ("decoder.positions" in found) == (config.positions != "none")
    for stage in found.values():
        assert not {"encoder", "decoder"} & set(stage.name.split())


def test_recomputed_attention_cell_and_row_match_the_model(loaded, trace):
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


def test_first_token_attends_to_all_later_tokens_without_the_mask(loaded, trace):
    unmasked = trace_reading(loaded, TEXT, interventions=Interventions(decoder_mask=False))
    assert unmasked.decoder_mask.all() and not unmasked.interventions.decoder_mask
    assert (unmasked.decoder[:, :, 0, 1:] > 0).all() and unmasked.predicted_tokens == trace.predicted_tokens
    # In the first layer, a score depends only on its query token and key token, so the mask does not change it.
    np.testing.assert_array_equal(unmasked.detail("decoder", "scores")[0], trace.detail("decoder", "scores")[0])
    assert not np.allclose(unmasked.log_probs, trace.log_probs)
    listed = {stage.key: stage for stage in stages(unmasked, loaded.weights())}
    assert "self-attention (mask switched off)" in listed["decoder.self_attention.written"].name
    assert trace_text(loaded, TEXT)[1].equals(trace), "the next run is masked as before"


def test_trace_text_is_the_source_text_or_else_the_target_text(trace):
    assert trace.text == trace.target_text
    assert replace(trace, source_text="x", source_tokens=trace.target_tokens).text == "x"
