"""The pass with gradients is the model's own."""

from __future__ import annotations

import numpy as np
import torch

from tests.conftest import ONE_SHAPE
from transformer.attribution.forward import ForwardPass
from transformer.attribution.objective import pieces_of
from transformer.model.edits import edits_of
from transformer.values.interventions import Interventions, all_heads

CPU = torch.device("cpu")


def logits_of(run, trace, **hidden):
    source_ids, prefix_ids = pieces_of(trace, CPU)
    source, prefix = run.embed_source(source_ids), run.embed_prefix(prefix_ids)
    edits = edits_of([Interventions(**hidden)], run.model.config)
    memory = run.encode((source.tokens + source.positions)[None], edits)
    hidden = run.decode((prefix.tokens + prefix.positions)[None], memory, edits)
    return run.logits(hidden[0])


def test_it_computes_what_the_model_computes(shaped_translator, shaped_trace):
    model = shaped_translator._model
    source, prefix = pieces_of(shaped_trace, CPU)
    with torch.inference_mode():
        expected = model(source[None], prefix[None])[0]
    found = logits_of(ForwardPass(model), shaped_trace)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=2e-5)


def test_freezing_changes_no_bit(shaped_translator, shaped_trace):
    free = logits_of(ForwardPass(shaped_translator._model), shaped_trace)
    frozen = logits_of(ForwardPass(shaped_translator._model, frozen=True), shaped_trace)
    assert torch.equal(free, frozen)


def test_hidden_source_pieces_are_the_models_padding(shaped_translator, shaped_trace):
    model = shaped_translator._model
    source, prefix = pieces_of(shaped_trace, CPU)
    visible = torch.ones(1, len(source), dtype=torch.bool)
    visible[0, [1, 4]] = False
    with torch.inference_mode():
        expected = model(source[None], prefix[None], source_mask=visible)[0]
    found = logits_of(ForwardPass(model), shaped_trace, hidden_source=[1, 4])
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=2e-5)


def test_without_any_source_piece_only_biases_cross_over(shaped_translator, shaped_trace):
    model = shaped_translator._model
    source, prefix = pieces_of(shaped_trace, CPU)
    cross = [head for head in all_heads(model.config) if head[0] == "cross"]
    edits = edits_of([Interventions(gates=dict.fromkeys(cross, 0.0))], model.config, None, "cpu")
    with torch.inference_mode():
        hidden = model.decode(prefix[None], model.encode(source[None], None), None, edits=edits)
        expected = model.generator(hidden[0])
    found = logits_of(ForwardPass(model), shaped_trace, hidden_source=range(len(source)))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=2e-5)


@ONE_SHAPE
def test_a_hidden_prefix_piece_changes_only_later_rows(shaped_translator, shaped_trace):
    run = ForwardPass(shaped_translator._model)
    changed = (logits_of(run, shaped_trace) - logits_of(run, shaped_trace, hidden_target=[2])).abs().amax(dim=-1)
    assert (changed[:3] == 0).all() and (changed[3:] > 1e-4).all()


@ONE_SHAPE
def test_it_leaves_nothing_on_the_model(shaped_translator, shaped_trace):
    model = shaped_translator._model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for method in ("frozen_gradient", "integrated_gradients", "erasure"):
        shaped_translator.attribute(shaped_trace, method)
    shaped_translator.gate_gradients(shaped_trace.source_text, shaped_trace.target_text)
    assert not any(parameter.requires_grad or parameter.grad is not None for parameter in model.parameters())
    assert not any(module._forward_hooks or module._backward_hooks for module in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
