"""An untrained model, and functions that run a search on it."""

import pytest
import torch

from transformer.config import TransformerConfig
from transformer.model.transformer import build
from transformer.text.tokenizer import END, PAD

SOURCES = [
    [5, 9, 7, END],
    [12, END],
    [8, 8, 20, 21, 22, END],
    [29, 4, END],
    [17, 6, 6, 25, 11, 10, 28, END],
    [23, 13, 14, END],
]


def padded(rows):
    """Return the rows padded to [B, S]."""
    return torch.nn.utils.rnn.pad_sequence(list(map(torch.tensor, rows)), batch_first=True, padding_value=PAD)


def run(search, model, rows, **settings):
    """Return all steps of a search over a batch of source rows."""
    source = padded(rows)
    with torch.inference_mode():
        real = source != PAD
        cache = model.start_cache(model.encode(source, real), real)
        return list(search(model, cache, **{"limit": 12} | settings))


@pytest.fixture(scope="session")
def model():
    torch.manual_seed(8)
    config = TransformerConfig(
        source_vocabulary=30, target_vocabulary=30, d_model=16, heads=4, encoder_layers=1, decoder_layers=2, d_ff=24
    )
    model = build(config).eval()
    with torch.no_grad():
        # Untrained weights would hardly ever predict the end symbol. With this bias, sentences end at different
        # steps, and some only at the limit.
        model.generator.bias[END] = 2.0
    return model


@pytest.fixture
def biased(model):
    """Return a function that copies the model and sets the output bias of one token."""

    def make(token, bias):
        changed = build(model.config).eval()
        changed.load_state_dict(model.state_dict())
        with torch.no_grad():
            changed.generator.bias[token] = bias
        return changed

    return make


@pytest.fixture(scope="session")
def decode(model):
    """decode(search, rows, **settings) returns the steps of a search, by default with the `model` fixture."""

    def decode(search, rows, *, model=model, **settings):
        return run(search, model, rows, **settings)

    return decode


@pytest.fixture(scope="session")
def sources():
    return SOURCES
