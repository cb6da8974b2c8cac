import numpy as np
import pytest
import torch

from transformer.analysis.replay.embedding import embedded_text
from transformer.config import RELATIVE
from transformer.values.interventions import Interventions
from transformer.values.trace import SIDES


def normalised(model, stack, summed):
    """Apply the model's embedding norm, which is the identity in most models."""
    return model.get_submodule(f"{SIDES[stack]}_norm")(torch.tensor(summed, dtype=torch.float32)).numpy()


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_recomputed_embedding_matches_the_model_input(shaped_translator, shaped_trace, stack):
    found = embedded_text(shaped_trace, shaped_translator.weights(), stack)
    model, config = shaped_translator._model, shaped_translator.config
    tokens = shaped_trace.source_tokens if stack == "encoder" else shaped_trace.target_tokens
    assert found.ids.tolist() == [token.id for token in tokens]
    embedding = model.source_embedding if stack == "encoder" else model.target_embedding
    assert np.array_equal(found.tokens, embedding(torch.tensor(found.ids)).numpy())
    assert found.scale == (24**0.5 if config.scale_embedding else 1)
    assert (found.positions is None) == (config.positions in ("none", *RELATIVE))
    total = found.scaled if found.positions is None else found.scaled + found.positions
    np.testing.assert_allclose(normalised(model, stack, total), found.total, atol=1e-5)
    assert np.array_equal(found.total, shaped_trace.residual_stream(stack)[0])


def test_embedding_has_no_positions_if_they_are_switched_off(shaped_translator):
    trace = shaped_translator.trace("A dog.", "Ein Hund.", details=True, interventions=Interventions(positions=False))
    for stack in ("encoder", "decoder"):
        found = embedded_text(trace, shaped_translator.weights(), stack)
        assert found.positions is None
        summed = normalised(shaped_translator._model, stack, found.scaled)
        np.testing.assert_allclose(summed, found.total, atol=1e-5)
