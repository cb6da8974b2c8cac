"""URL parameters of the parameter counter: the model configuration that the user builds."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.fields import Params, flag, integer, one_of
from transformer.config import CHOICES, NormPlacement, Positions, TiedEmbeddings, TransformerConfig

# Fields that have the same name in `TransformerConfig`.
SAME_NAMES = ("d_model", "heads", "encoder_layers", "decoder_layers", "d_ff", "norm", "positions", "output_bias")


@dataclass(frozen=True)
class ArchitectureParams(Params, prefix="architecture_"):
    """Sizes and options that determine a model's number of parameters.

    The defaults are those of the base model in "Attention Is All You Need", table 3. The source and target vocabularies
    have the same size, as in the paper, which shares the embeddings.
    """

    d_model: int = integer(512, 1, 4096)
    heads: int = integer(8, 1, 64)
    encoder_layers: int = integer(6, 1, 24)
    decoder_layers: int = integer(6, 1, 24)
    d_ff: int = integer(2048, 1, 16384)
    vocabulary: int = integer(37_000, 1, 300_000)
    tied: TiedEmbeddings = one_of(CHOICES["tied_embeddings"], "all")
    norm: NormPlacement = one_of(CHOICES["norm"], "post")
    positions: Positions = one_of(CHOICES["positions"])
    output_bias: bool = flag()

    def config(self) -> TransformerConfig:
        """Return the model configuration.

        Raises:
            ValueError: two values are incompatible; the message names both.
        """
        return TransformerConfig(
            source_vocabulary=self.vocabulary,
            target_vocabulary=self.vocabulary,
            tied_embeddings=self.tied,
            **{name: getattr(self, name) for name in SAME_NAMES},
        )

    @classmethod
    def of(cls, config: TransformerConfig) -> ArchitectureParams:
        """Return the URL parameters for a configuration whose source and target vocabularies have the same size."""
        same = {name: getattr(config, name) for name in SAME_NAMES}
        return cls(vocabulary=config.target_vocabulary, tied=config.tied_embeddings, **same)
