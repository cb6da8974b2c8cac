import numpy as np
import pytest

from tests.conftest import SHAPES
from transformer.backpropagation.gradients import LossInputs
from transformer.config import TransformerConfig
from transformer.model.transformer import Transformer

# Together, these configurations cover every option. The last two are as deep as the shipped model.
CONFIGS = {
    "pre": {"tied_embeddings": "all"},
    "post": SHAPES["post"],
    "pre, learned": {"positions": "learned", "activation": "silu", "scale_embedding": False, "encoder_layers": 2},
    "post, none": {"norm": "post", "positions": "none", "tied_embeddings": "all", "decoder_layers": 3},
    "pre, untied": {"positions": "sinusoidal_halves", "activation": "gelu_tanh", "output_bias": False, "heads": 1},
    "post, learned": {"norm": "post", "positions": "learned", "activation": "silu", "tied_embeddings": "target"},
    "pre, alibi": {"positions": "alibi", "encoder_layers": 2},
    "post, rotary": {"norm": "post", "positions": "rotary", "decoder_layers": 2},
    "pre, embedding norm": {"embedding_norm": True, "positions": "sinusoidal_fairseq"},
    "post, embedding norm": {"norm": "post", "embedding_norm": True, "positions": "learned", "tied_embeddings": "all"},
    "pre, 6 + 6": {"encoder_layers": 6, "decoder_layers": 6, "tied_embeddings": "all"},
    "post, 6 + 6": {"norm": "post", "encoder_layers": 6, "decoder_layers": 6},
}
VOCABULARY = 11


def random_parameters(config: TransformerConfig, seed: int = 0) -> dict[str, np.ndarray]:
    """Return random float64 parameters, so that no norm gain is 1, no bias is 0 and no attention is uniform."""
    rng = np.random.default_rng(seed)
    parameters = {}
    for name, parameter in Transformer(config).named_parameters():
        scale = 1.0 if parameter.ndim == 1 else 1.5 / np.sqrt(config.d_model)
        parameters[name] = rng.normal(scale=scale, size=tuple(parameter.shape))
    return parameters


@pytest.fixture(params=CONFIGS)
def config(request: pytest.FixtureRequest) -> TransformerConfig:
    return TransformerConfig(
        **{
            "source_vocabulary": VOCABULARY,
            "target_vocabulary": VOCABULARY,
            "d_model": 12,
            "heads": 3,
            "d_ff": 20,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "max_positions": 9,
            **CONFIGS[request.param],
        }
    )


@pytest.fixture
def parameters(config: TransformerConfig) -> dict[str, np.ndarray]:
    return random_parameters(config)


@pytest.fixture
def batch() -> LossInputs:
    """Return two sentence pairs of unequal length with repeated tokens."""
    rng = np.random.default_rng(5)
    source, target, labels = (rng.integers(0, VOCABULARY, (2, length)) for length in (7, 5, 5))
    source[0, 0] = source[0, 1]
    source_mask, counted = np.ones((2, 7), dtype=bool), np.ones((2, 5), dtype=bool)
    source_mask[1, 4:] = counted[1, 3:] = False
    return LossInputs(source, target, labels, counted, source_mask, label_smoothing=0.1)
