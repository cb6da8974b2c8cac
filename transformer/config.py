"""The shape of a Transformer, as one validated value that is stored beside the weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Literal, get_args

Activation = Literal["relu", "gelu", "silu"]
NormPlacement = Literal["pre", "post"]
Positions = Literal["sinusoidal", "sinusoidal_halves", "learned", "none"]
TiedEmbeddings = Literal["none", "target", "all"]

CHOICES = {
    "activation": get_args(Activation),
    "norm": get_args(NormPlacement),
    "positions": get_args(Positions),
    "tied_embeddings": get_args(TiedEmbeddings),
}
COUNTS = ("source_vocabulary", "target_vocabulary", "d_model", "heads", "encoder_layers", "decoder_layers",
          "d_ff", "max_positions")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and choices of an encoder-decoder Transformer ("Attention Is All You Need", section 3, table 3).

    The defaults are the paper's base model, but for the place of the layer norms: "pre" trains without its long
    warm-up (Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture").

    Attributes:
        source_vocabulary, target_vocabulary: number of pieces V on each side.
        d_model: width D of the residual stream; even, and a multiple of `heads`.
        heads: attention heads H of every attention layer.
        encoder_layers, decoder_layers: number of layers L of each stack.
        d_ff: width F of the position-wise feed-forward network.
        dropout: rate after each sub-layer, on the embeddings (section 5.4) and on the attention weights; used
            in training only.
        activation: of the feed-forward network.
        norm: "post" as in the paper, x = norm(x + f(x)); "pre": x = x + f(norm(x)), and each stack ends in a norm.
        positions: "sinusoidal" interleaves sine and cosine (section 3.5); "sinusoidal_halves" puts all sines
            before all cosines; "learned" has one vector for each of `max_positions`; "none" adds nothing.
        max_positions: number of learned positions; the other kinds know no limit.
        tied_embeddings: "target": the output layer is the target embedding; "all": the source embedding too
            (section 3.4), which needs one joint vocabulary.
        scale_embedding: multiply embeddings by sqrt(D) (section 3.4).
        output_bias: give the output layer a bias.

    Raises:
        ValueError: a value is out of range or two values do not fit together; the message names both.
    """

    source_vocabulary: int
    target_vocabulary: int
    d_model: int = 512
    heads: int = 8
    encoder_layers: int = 6
    decoder_layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    activation: Activation = "relu"
    norm: NormPlacement = "pre"
    positions: Positions = "sinusoidal"
    max_positions: int = 512
    tied_embeddings: TiedEmbeddings = "none"
    scale_embedding: bool = True
    output_bias: bool = True

    def __post_init__(self) -> None:
        for name in COUNTS:
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}")
        for name in ("scale_embedding", "output_bias"):
            if type(getattr(self, name)) is not bool:
                raise ValueError(f"{name} must be true or false, not {getattr(self, name)!r}")
        if type(self.dropout) not in (int, float) or not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, not {self.dropout!r}")
        if self.d_model % self.heads:
            raise ValueError(f"d_model must be a multiple of heads: {self.d_model} is no multiple of {self.heads}")
        if self.d_model % 2 and self.positions.startswith("sinusoidal"):
            raise ValueError(f"sinusoidal positions need an even d_model, not {self.d_model}")
        if self.tied_embeddings == "all" and self.source_vocabulary != self.target_vocabulary:
            raise ValueError(
                "tied_embeddings='all' needs one joint vocabulary: source_vocabulary is "
                f"{self.source_vocabulary}, target_vocabulary is {self.target_vocabulary}"
            )

    @property
    def d_head(self) -> int:
        """Width K of one head."""
        return self.d_model // self.heads

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> TransformerConfig:
        """Read what `to_json` wrote.

        Raises:
            ValueError: the text is no JSON object, or has a field too many, too few, or out of range.
        """
        values = json.loads(text)
        if not isinstance(values, dict):
            raise ValueError(f"a configuration is a JSON object, not {type(values).__name__}")
        unknown = values.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"unknown field in the configuration: {', '.join(sorted(unknown))}")
        missing = {"source_vocabulary", "target_vocabulary"} - values.keys()
        if missing:
            raise ValueError(f"missing field in the configuration: {', '.join(sorted(missing))}")
        return cls(**values)
