"""The configuration that a reader typed in, as it stands in the address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pages.ui.address import Addressed, one_of, switch, whole
from transformer.config import CHOICES, TransformerConfig


@dataclass(frozen=True)
class Architecture(Addressed):
    """Sizes that make parameters; at first the base model of "Attention Is All You Need", table 3.

    One vocabulary for both sides, as there is where embeddings are shared.
    """

    PREFIX: ClassVar[str] = "architecture_"

    d_model: int = whole(512, 1, 4096)
    heads: int = whole(8, 1, 64)
    encoder_layers: int = whole(6, 1, 24)
    decoder_layers: int = whole(6, 1, 24)
    d_ff: int = whole(2048, 1, 16384)
    vocabulary: int = whole(37_000, 1, 300_000)
    tied: str = one_of(CHOICES["tied_embeddings"], "all")
    norm: str = one_of(CHOICES["norm"], "post")
    positions: str = one_of(CHOICES["positions"])
    output_bias: bool = switch()

    def config(self) -> TransformerConfig:
        """The configuration.

        Raises:
            ValueError: two values do not fit together; the message names both.
        """
        return TransformerConfig(
            source_vocabulary=self.vocabulary, target_vocabulary=self.vocabulary, d_model=self.d_model,
            heads=self.heads, encoder_layers=self.encoder_layers, decoder_layers=self.decoder_layers, d_ff=self.d_ff,
            tied_embeddings=self.tied, norm=self.norm, positions=self.positions, output_bias=self.output_bias,
        )

    @classmethod
    def of(cls, config: TransformerConfig) -> Architecture:
        """What stands for a configuration whose two vocabularies are equally large."""
        return cls(
            d_model=config.d_model, heads=config.heads, encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers, d_ff=config.d_ff, vocabulary=config.target_vocabulary,
            tied=config.tied_embeddings, norm=config.norm, positions=config.positions, output_bias=config.output_bias,
        )
