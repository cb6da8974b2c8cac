from typing import Any

from transformer.config import TransformerConfig


def small(
    vocabulary: int, d_model: int, heads: int, d_ff: int, layers: tuple[int, int] = (2, 2), **options: Any
) -> TransformerConfig:
    """Return a translator's configuration in which both vocabularies have the same size.

    Args:
        layers: number of encoder and decoder layers.
        options: other fields of the configuration.
    """
    return TransformerConfig(
        source_vocabulary=vocabulary,
        target_vocabulary=vocabulary,
        d_model=d_model,
        heads=heads,
        encoder_layers=layers[0],
        decoder_layers=layers[1],
        d_ff=d_ff,
        **options,
    )
