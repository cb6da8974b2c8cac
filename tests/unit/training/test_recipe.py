from __future__ import annotations

import pytest

from transformer.training.recipe import Recipe


def test_default_is_the_shape_that_ships():
    config = Recipe().model(8000)
    assert (config.d_model, config.heads, config.d_ff) == (256, 8, 1024)
    assert (config.encoder_layers, config.decoder_layers) == (6, 6)
    assert config.norm == "pre" and config.tied_embeddings == "all"


@pytest.mark.parametrize(
    "change", [{"steps": 0}, {"learning_rate": -1.0}, {"dropout": 1.0}, {"label_smoothing": -0.1}, {"average": 0}]
)
def test_says_what_is_out_of_range(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        Recipe(**change)
