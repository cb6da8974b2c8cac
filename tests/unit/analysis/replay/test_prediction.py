import numpy as np
import torch

from transformer.analysis.replay.prediction import prediction


def test_recomputed_prediction_matches_the_model_output(shaped_translator, shaped_trace):
    found = prediction(shaped_trace, shaped_translator.weights())
    source, target = (
        torch.tensor([[token.id for token in tokens]])
        for tokens in (shaped_trace.source_tokens, shaped_trace.target_tokens)
    )
    np.testing.assert_allclose(found.logits, shaped_translator._model(source, target)[0].numpy(), atol=1e-5)
    np.testing.assert_allclose(found.probabilities.sum(-1), 1)
    taken = found.probabilities[np.arange(len(target[0])), [token.id for token in shaped_trace.predicted_tokens]]
    np.testing.assert_allclose(np.log(taken), shaped_trace.log_probs, atol=1e-5)
    assert np.array_equal(found.likeliest, found.logits.argmax(-1))
