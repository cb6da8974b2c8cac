"""Models for which the cause of each predicted token is known."""

from collections.abc import Callable

import pytest
import torch

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.transformer import build
from transformer.running.translator import Translator
from transformer.text.tokenizer import END

Change = Callable[[dict[str, torch.Tensor], slice, slice], None]


@pytest.fixture(scope="session")
def changed_copier(copying_translator: Translator) -> Callable[[Change], Translator]:
    """Return a function that applies a given change to a copying model's weights and returns the changed model.

    The change is called with the weights by name, and with the residual-stream dimensions of tokens and of positions.
    """

    def changed(change: Change) -> Translator:
        config = copying_translator.config
        model = build(config)
        arrays = copying_translator.weights().arrays
        weights = {name: torch.tensor(arrays[name]) for name, _ in model.named_parameters()}
        tokens = slice(0, config.source_vocabulary)
        change(weights, tokens, slice(tokens.stop, tokens.stop + config.max_positions))
        model.load_state_dict(weights, strict=False)
        return Translator(
            Checkpoint(model.eval().requires_grad_(False), copying_translator.tokenizer), device="cpu", version="known"
        )

    return changed


def look_one_ahead(weights, tokens, places):
    """Make decoder row t attend to source position t + 1."""
    query = weights["decoder_layers.0.cross_attention.in_projection.weight"].chunk(3)[0]
    query[places, places] = torch.eye(places.stop - places.start).roll(1, dims=0)


@pytest.fixture(scope="session")
def next_copier(changed_copier) -> Translator:
    """A model that attends to source position t + 1 and predicts the token there."""
    return changed_copier(look_one_ahead)


@pytest.fixture(scope="session")
def distracted_copier(changed_copier) -> Translator:
    """Like `next_copier`, but nine tenths of the cross-attention go to the end symbol, whose value vector is 0."""

    def change(weights, tokens, places):
        look_one_ahead(weights, tokens, places)
        name = "decoder_layers.0.cross_attention"
        _, key, value = weights[f"{name}.in_projection.weight"].chunk(3)
        key[END, END] = 1.0
        weights[f"{name}.in_projection.bias"][END] = 17.8
        # The end symbol's value vector is 0. Each of the other value vectors has mean 0, because layer
        # normalisation would subtract any other mean.
        others = torch.ones(tokens.stop)
        others[END] = 0
        value[tokens, tokens] = torch.diag(others) - torch.outer(others, others) / others.sum()
        weights[f"{name}.out_projection.weight"][tokens, tokens] = 10 * torch.eye(tokens.stop)

    return changed_copier(change)


@pytest.fixture(scope="session")
def mixing_copier(changed_copier) -> Translator:
    """A model whose encoder moves each token from position t + 1 to position t, where decoder row t attends to it."""

    def change(weights, tokens, places):
        # The weight is large enough to outweigh the token already at position t, and small enough that attention can
        # still tell positions apart.
        weights["encoder_layers.0.self_attention.out_projection.weight"][tokens, tokens] = 0.15 * torch.eye(tokens.stop)

    return changed_copier(change)
