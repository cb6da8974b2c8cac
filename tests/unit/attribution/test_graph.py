from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.conftest import ONE_SHAPE, SHAPES
from transformer.attribution.attribution import Target
from transformer.attribution.frozen_layers import FrozenRun, SubLayerId
from transformer.attribution.graph import Node, attribution_graph, prune
from transformer.attribution.objective import token_ids
from transformer.attribution.paths import path_effects
from transformer.attribution.score_pairs import score_pairs
from transformer.checkpoints.checkpoint import load_language_model
from transformer.language_modelling.tracing import trace_text
from transformer.model.attention import AttentionContext
from transformer.model.edits import UNEDITED, Edits
from transformer.model.hooks import hooks_of
from transformer.model.layers import LayerContext
from transformer.model.recorder import Recorder
from transformer.values.interventions import AS_TRAINED, Interventions

TARGET = Target((4,), against=(17,))


@pytest.fixture(scope="module")
def run(shaped_translator, shaped_trace):
    return FrozenRun(shaped_trace, shaped_translator.weights())


@pytest.fixture(scope="module")
def graph(run):
    return attribution_graph(run, TARGET, smallest=0.0)


def test_graph_node_value_is_the_sum_of_its_incoming_edges_and_biases(graph):
    into = np.bincount(graph.receivers, graph.edges, minlength=len(graph.nodes))
    read = np.array([node.kind != "token" for node in graph.nodes])
    np.testing.assert_allclose((into + graph.biases)[read], graph.values[read], rtol=1e-4, atol=1e-9)
    assert not graph.biases[~read].any() and graph.error().max() < 1e-9
    assert graph.bias("encoder") + graph.bias("decoder") == pytest.approx(graph.biases.sum())
    np.testing.assert_allclose(into, graph.inflow, atol=1e-9)
    assert graph.flow == pytest.approx(abs(graph.edges).sum())


def test_outgoing_edges_of_a_graph_node_add_up_to_its_value(graph):
    out = np.bincount(graph.senders, graph.edges, minlength=len(graph.nodes))
    np.testing.assert_allclose(out[:-1], graph.values[:-1], atol=1e-9)


@pytest.mark.parametrize("shaped_translator", SHAPES, indirect=True)
def test_graph_target_value_is_the_difference_of_two_model_logits(graph, shaped_translator, shaped_trace):
    source, prefix = token_ids(shaped_trace, torch.device("cpu"))
    with torch.inference_mode():
        logits = shaped_translator._model(source[None], prefix[None])[0, 4]
    expected = float(logits[shaped_trace.predicted_tokens[4].id] - logits[17])
    assert graph.values[-1] == pytest.approx(expected, rel=1e-4)


def test_token_node_values_match_the_frozen_gradient_terms(graph, shaped_translator, shaped_trace):
    terms = shaped_translator.attribute(shaped_trace, "frozen_gradient", [TARGET])
    tokens = {
        stack: sum(
            value
            for node, value in zip(graph.nodes, graph.values, strict=True)
            if node.kind == "token" and node.stack == stack
        )
        for stack in ("encoder", "decoder")
    }
    for stack, side, scores in (("encoder", "source", terms.source), ("decoder", "target", terms.prefix)):
        assert tokens[stack] == pytest.approx(float(scores.sum() + terms.remainders[f"{side} positions"][0]), abs=1e-4)


def test_language_model_graph_adds_up_to_the_logit(tiny_language_model):
    loaded = load_language_model(tiny_language_model, "cpu")
    _, trace = trace_text(loaded, "The cat sits.")
    found = attribution_graph(FrozenRun(trace, loaded.weights()), Target((2,)), smallest=0.0)
    assert found.error().max() < 1e-9 and {node.stack for node in found.nodes} == {"decoder"}
    ids = torch.tensor([[token.id for token in trace.target_tokens]])
    with torch.inference_mode():
        logits = loaded.model(None, ids)[0, 2]
    assert found.values[-1] == pytest.approx(float(logits[trace.predicted_tokens[2].id]), rel=1e-4)


def test_pruned_graph_keeps_large_edges_that_lead_to_the_target(graph):
    found = prune(graph, 12)
    sizes = abs(graph.edges[list(found.edges)])
    assert len(found.nodes) == 12 and found.nodes[-1] == len(graph.nodes) - 1
    assert found.kept == pytest.approx(sizes.sum() / graph.flow) and sizes.min() >= found.threshold
    assert {*graph.senders[list(found.edges)].tolist()} == {*found.nodes[:-1]}
    assert found.biased and {*found.biased} <= {*found.nodes}
    assert abs(graph.biases[list(found.biased)]).min() >= found.threshold


@pytest.mark.parametrize(
    ("kind", "cell"), [("encoder", (1, 2, 3, 5)), ("decoder", (1, 0, 4, 2)), ("cross", (1, 1, 3, 4))]
)
def test_contributions_of_all_query_and_key_part_pairs_add_up_to_the_attention_score(run, shaped_trace, kind, cell):
    found = score_pairs(run, kind, *cell)
    assert found.total == pytest.approx(float(shaped_trace.detail(kind, "scores")[cell]), rel=1e-4, abs=1e-5)
    assert found.scores.shape == (len(found.query_parts), len(found.key_parts))
    assert found.largest(4)[2].sum() + found.distance == pytest.approx(found.total)


def test_cutting_a_path_changes_the_logit_as_much_as_editing_the_model(run, shaped_translator, shaped_trace):
    """In the edited model, only head 1 of the first layer ignores token 2, and only at query 3."""
    model, (source, prefix) = shaped_translator._model, token_ids(shaped_trace, torch.device("cpu"))
    taken = shaped_trace.predicted_tokens[4].id

    def logit(edits):
        found = model(source[None], prefix[None], edits=edits)[0, 4]
        return float(found[taken] - found[17])

    with torch.inference_mode():
        x = model._embed(source[None], model.source_embedding, model.source_positions, model.source_norm)
        without = x.clone()
        # The bias of the embedding norm is not part of the token's contribution.
        without[0, 2] = getattr(model.source_norm, "bias", 0)
        outputs = []
        for stream in (x, without):
            record = Recorder(details=True)
            relative = model.source_positions.relative(len(source))
            hooks = hooks_of(UNEDITED, record, "encoder").of_layer(0)
            model.encoder_layers[0](stream, LayerContext(AttentionContext(None, relative, hooks), hooks=hooks))
            outputs.append(record.tensors["encoder.outputs"][0][0, 1, 3])
        offset = torch.zeros(1, 2, 3, len(source), 8)
        offset[0, 0, 1, 3] = outputs[1] - outputs[0]
        expected = logit(UNEDITED) - logit(Edits((AS_TRAINED,), offsets={"encoder": offset}))
    receiver = Node("head", SubLayerId("encoder", 0, "self_attention"), "encoder", 1, 3)
    found = path_effects(run, TARGET, [(Node("token", None, "encoder", None, 2), receiver)])
    assert found[0] == pytest.approx(expected, abs=5e-6) and expected != 0


def test_cutting_a_path_without_a_contribution_has_no_effect(run):
    receiver = Node("head", SubLayerId("decoder", 1, "self_attention"), "decoder", 1, 4)
    later = Node("token", None, "decoder", None, 5)
    assert abs(path_effects(run, TARGET, [(later, receiver)])[0]) < 1e-12


@ONE_SHAPE
def test_cutting_a_path_directly_to_the_logit_has_the_predicted_effect_in_a_post_norm_model(run, graph):
    """In a post-norm model, the target logit is a linear function of the final residual stream."""
    into = np.flatnonzero((graph.receivers == len(graph.nodes) - 1) & (abs(graph.edges) > 1e-3))
    np.testing.assert_allclose(path_effects(run, TARGET, graph.paths(into)), graph.edges[into], atol=1e-9)


@ONE_SHAPE
def test_frozen_run_rejects_a_trace_with_interventions(shaped_translator, shaped_trace):
    changed = replace(shaped_trace, interventions=Interventions(decoder_mask=False))
    with pytest.raises(ValueError, match="without interventions"):
        FrozenRun(changed, shaped_translator.weights())
