from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import ONE_SHAPE
from transformer.analysis.replay.contributions import Contributions
from transformer.attribution.alti import alti, mixing_by_proximity, proximity_shares
from transformer.attribution.attribution import Target, TracedRun, every_position, token_groups, whole_sentence
from transformer.attribution.mixing import Mixing
from transformer.attribution.norms import norms
from transformer.attribution.rollout import encoder_rollout, roll_out, rollout
from transformer.attribution.transformed import TransformedVectors, linear_layer_norm, transformed_vectors
from transformer.attribution.weights import mixing_by_weights, weights
from transformer.values.trace import KINDS

E = np.array([[[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0, 0.4, 0.6]], [[1, 0, 0], [0.5, 0, 0.5], [0.1, 0.1, 0.8]]])
D = np.array([[[1, 0], [0.4, 0.6]], [[1, 0], [0.3, 0.7]]])
X = np.array([[[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]], [[0.2, 0.5, 0.3], [0, 0.1, 0.9]]])


@pytest.fixture
def two_layers(shaped_trace):
    """Return a trace with the weights at the top of this file: two layers of one head, three source tokens and two
    target tokens.
    """
    return replace(
        shaped_trace,
        encoder=E[:, None],
        decoder=D[:, None],
        cross=X[:, None],
        source_tokens=shaped_trace.source_tokens[:3],
        target_tokens=shaped_trace.target_tokens[:2],
    )


def test_encoder_decoder_rollout_matches_a_hand_computed_case(two_layers):
    """The residual connection counts as half of each layer."""
    encoder = [[0.75, 0.25, 0], [0.2375, 0.4375, 0.325], [0.0425, 0.225, 0.7325]]
    np.testing.assert_allclose(encoder_rollout(mixing_by_weights(two_layers)), encoder, atol=1e-7)
    source, prefix = roll_out(mixing_by_weights(two_layers))
    np.testing.assert_allclose(source, [[0.272125, 0.244063, 0.233813], [0.083059, 0.191891, 0.47505]], atol=1e-6)
    np.testing.assert_allclose(prefix, [[0.25, 0], [0.08, 0.17]], atol=1e-6)


def test_rollout_differs_from_cross_attention_times_encoder_rollout(two_layers):
    """Some definitions of rollout multiply cross-attention by encoder rollout, so each row sums to 1 over the source.

    In `roll_out`, each row sums to 1 over source and prefix together.
    """
    full = mixing_by_weights(two_layers)
    other = X.mean(axis=0) @ encoder_rollout(full)
    np.testing.assert_allclose(other, [[0.4035, 0.32, 0.2765], [0.107125, 0.258125, 0.63475]], atol=1e-7)
    source, prefix = roll_out(full)
    np.testing.assert_allclose(source.sum(axis=1) + prefix.sum(axis=1), 1)
    assert abs(source - other).max() > 0.1


def explained(trace, weights=None):
    """Wrap a trace for attribution methods that do not run the model."""
    return TracedRun(trace, None, weights, *token_groups(trace))


def test_rollout_of_one_decoder_layer_matches_a_hand_computed_case(two_layers):
    full = mixing_by_weights(two_layers)
    source, prefix = roll_out(Mixing(full.encoder, full.decoder[:1], full.cross[:1], full.residual[:1]))
    np.testing.assert_allclose(source, [[0.26275, 0.151875, 0.085375], [0.076125, 0.135, 0.288875]], atol=1e-6)
    np.testing.assert_allclose(prefix, [[0.5, 0], [0.1, 0.4]], atol=1e-6)


def test_weights_method_averages_attention_over_layers_and_heads(two_layers):
    found = weights(explained(two_layers), [Target((1,)), Target((0, 1))])
    np.testing.assert_allclose(found.source, [[0.05, 0.15, 0.8], [0.225, 0.275, 0.5]], atol=1e-7)
    np.testing.assert_allclose(found.prefix, [[0.35, 0.65], [0.675, 0.325]], atol=1e-7)


def test_contributions_of_two_heads_with_opposite_outputs_cancel_each_other():
    both = Contributions(
        weights=np.array([[[0.7, 0.3]], [[0.2, 0.8]]]),
        transformed=np.array([[[3.0, 4.0], [0.0, 1.0]], [[-3.0, -4.0], [1.0, 0.0]]]),
        bias=np.zeros(2),
    )
    np.testing.assert_allclose(both.head_norms(), [[[3.5, 0.3]], [[1, 0.8]]])
    np.testing.assert_allclose(both.layer_norms(), [[2.5, 0.854400]], atol=1e-6)


def test_layer_normalisation_divides_by_the_population_standard_deviation():
    x = np.array([1.0, 2.0, 3.0, 6.0])
    found = linear_layer_norm(x, np.ones(4), x.std())
    np.testing.assert_allclose(found[[0, -1]], [-1.069045, 1.603567], atol=1e-5)
    found = linear_layer_norm(x, np.ones(4), np.sqrt(x.var() + 1e-5))
    np.testing.assert_allclose(found[[0, -1]], [-1.069043, 1.603565], atol=1e-6)


def test_alti_proximity_matches_a_hand_computed_case():
    vectors = np.array([[[1.0, 0.0], [0.0, 2.0]]])
    np.testing.assert_allclose(proximity_shares(TransformedVectors(vectors, vectors.sum(axis=1))), [[1 / 3, 2 / 3]])


def test_alti_is_undefined_if_no_vector_is_near_the_sum():
    vectors = np.array([[[1.0, 1.0], [-2.0, 0.0]]])
    assert np.isnan(proximity_shares(TransformedVectors(vectors, vectors.sum(axis=1)))).all()


def test_rollout_is_undefined_only_for_rows_that_depend_on_an_undefined_row():
    mixing = Mixing(
        encoder=np.eye(2)[None],
        decoder=np.array([[[1, 0, 0], [np.nan] * 3, [0.5, 0, 0.5]], [[1, 0, 0], [0, 1, 0], [0.2, 0.3, 0.5]]]),
        cross=np.full((2, 3, 2), 0.25),
        residual=np.full((2, 3), 0.5),
    )
    source, prefix = roll_out(mixing)
    assert np.isfinite(source[0]).all() and np.isfinite(prefix[0]).all()
    assert np.isnan(source[1:]).all() and np.isnan(prefix[1:]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_contribution_vectors_add_up_to_the_residual_stream(shaped_translator, shaped_trace, kind):
    """Covers pre-norm and post-norm models with biases."""
    model = shaped_translator.weights()
    stack = "encoder" if kind == "encoder" else "decoder"
    for layer in range(2):
        after = shaped_trace.residual(stack, layer, "cross_attention" if kind == "cross" else "self_attention")[1]
        found = transformed_vectors(shaped_trace, model, kind, layer)
        np.testing.assert_allclose(found.output, after, atol=1e-5)
        biases = found.output - found.vectors.sum(axis=1)
        if model.config.norm == "pre":
            np.testing.assert_allclose(biases, np.broadcast_to(biases[0], biases.shape), atol=1e-10)


@ONE_SHAPE
def test_mixing_matrix_rows_sum_to_one(shaped_translator, shaped_trace):
    found = mixing_by_proximity(shaped_trace, shaped_translator.weights())
    np.testing.assert_allclose(found.encoder.sum(axis=-1), 1)
    np.testing.assert_allclose(found.decoder.sum(axis=-1), 1)
    np.testing.assert_allclose(found.cross.sum(axis=-1) + found.residual, 1)
    assert (found.decoder[:, ~shaped_trace.decoder_mask] == 0).all()
    source, prefix = roll_out(found)
    np.testing.assert_allclose(source.sum(axis=1) + prefix.sum(axis=1), 1)


@ONE_SHAPE
def test_attribution_shares_sum_to_one(shaped_translator, shaped_trace):
    targets = (*every_position(shaped_trace), whole_sentence(shaped_trace))
    run = explained(shaped_trace, shaped_translator.weights())
    found = [method(run, targets) for method in (weights, rollout, norms, alti)]
    for attribution in found:
        assert attribution.error().max() < 1e-6, attribution.method
        # Tokens that the decoder has not read yet have a score of 0.
        read = np.array([[column <= row for column in range(len(targets) - 1)] for row in range(len(targets) - 1)])
        assert (attribution.prefix[:-1][~read] == 0).all()


@ONE_SHAPE
def test_methods_that_compute_shares_reject_a_contrast_token(shaped_trace):
    with pytest.raises(ValueError, match="for a contrast, choose one of frozen_gradient"):
        weights(explained(shaped_trace), [Target((1,), against=(5,))])
