import numpy as np
import pytest
import torch

from transformer.analysis.replay.contributions import Contributions, contributions
from transformer.values.trace import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_contribution_terms_add_up_to_the_sublayer_output(shaped_translator, shaped_trace, kind):
    model = shaped_translator._model
    for layer in range(2):
        found = contributions(shaped_trace, shaped_translator.weights(), kind, layer)
        layers = model.encoder_layers if kind == "encoder" else model.decoder_layers
        attention = layers[layer].cross_attention if kind == "cross" else layers[layer].self_attention
        heads = torch.tensor(shaped_trace.detail(kind, "outputs")[layer])
        expected = attention.out_projection(heads.transpose(0, 1).flatten(1)).numpy()
        np.testing.assert_allclose(found.output(), expected, atol=1e-5)
        for row in range(len(expected)):
            terms = found.terms(row)
            np.testing.assert_allclose(terms.sum(axis=(0, 1)) + found.bias, expected[row], atol=1e-5)
            np.testing.assert_allclose(terms.sum(axis=1), found.heads()[:, row], atol=1e-10)
            np.testing.assert_allclose(np.linalg.norm(terms, axis=-1), found.head_norms()[:, row], atol=1e-10)
            np.testing.assert_allclose(np.linalg.norm(terms.sum(0), axis=-1), found.layer_norms()[row], atol=1e-10)


def test_contribution_norms_match_a_hand_computed_case():
    # At the first column, the two heads write opposite vectors, so the norm of their sum is 0.
    found = Contributions(
        weights=np.array([[[0.25, 0.75]], [[0.5, 0.5]]]),
        transformed=np.array([[[4.0, 0.0], [0.0, 4.0]], [[-2.0, 0.0], [3.0, 0.0]]]),
        bias=np.array([1.0, 1.0]),
    )
    np.testing.assert_allclose(found.head_norms(), [[[1.0, 3.0]], [[1.0, 1.5]]])
    np.testing.assert_allclose(found.layer_norms(), [[0.0, np.hypot(1.5, 3.0)]])
    np.testing.assert_allclose(found.output(), [[2.5, 4.0]])
