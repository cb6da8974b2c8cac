"""The shape of a Transformer, as one validated value that is stored beside the weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

# GPT-2 computes the Gaussian error linear unit by its approximation with tanh.
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
NormPlacement = Literal["pre", "post"]
LanguageModelAttention = Literal["full", "local", "compressed"]
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
# Fields that config.json may lack: the models of before have none.
YOUNGER = ("tied_output", "unapplied")
# A longer line would be no setting.
LONGEST = 200


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
        unapplied: what the settings of an imported model ask of a search and this one does not do, as "num_beams 6".

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
    unapplied: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check(self, COUNTS, CHOICES, ("scale_embedding", "output_bias"))
        if self.tied_embeddings == "all" and self.source_vocabulary != self.target_vocabulary:
            raise ValueError(
                "tied_embeddings='all' needs one joint vocabulary: source_vocabulary is "
                f"{self.source_vocabulary}, target_vocabulary is {self.target_vocabulary}"
            )
        if not isinstance(self.unapplied, tuple) or len(self.unapplied) > LONGEST or not all(
            isinstance(each, str) and len(each) <= LONGEST for each in self.unapplied
        ):
            raise ValueError(f"unapplied must be texts of at most {LONGEST} characters, not {self.unapplied!r:.60}")

    @property
    def d_head(self) -> int:
        """Width K of one head."""
        return self.d_model // self.heads

    def to_json(self) -> str:
        return _json(self)

    @classmethod
    def from_json(cls, text: str) -> TransformerConfig:
        """Read what `to_json` wrote.

        Raises:
            ValueError: the text is no JSON object, or has a field too many, too few, or out of range.
        """
        values = _fields(cls, text, {"source_vocabulary", "target_vocabulary"})
        if isinstance(values.get("unapplied"), list):
            values["unapplied"] = tuple(values["unapplied"])
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class LanguageModelConfig:
    """Sizes and choices of a decoder-only Transformer (Radford et al. 2019, "Language Models are Unsupervised
    Multitask Learners", section 2.3).

    The defaults are GPT-2's smallest model.

    Attributes:
        vocabulary: number of pieces V.
        d_model, heads, layers, d_ff, dropout, norm, positions, max_positions, scale_embedding: as in
            `TransformerConfig`; every layer has masked self-attention and a feed-forward network.
        activation: of the feed-forward network; "gelu_tanh" is GPT-2's.
        attention: what a position may look at: "full", everything up to itself; "local", that of its own block;
            "compressed", keys and values of several positions that a convolution has made one (Liu et al. 2018,
            "Generating Wikipedia by Summarizing Long Sequences", section 4.2.3).
        block: positions of a block of local attention.
        stride: positions that compressed attention makes one; the width of its kernel too.
        tied_output: the output layer is the embedding.

    Raises:
        ValueError: a value is out of range or two values do not fit together; the message names both.
    """

    vocabulary: int
    d_model: int = 768
    heads: int = 12
    layers: int = 12
    d_ff: int = 3072
    dropout: float = 0.1
    activation: Activation = "gelu_tanh"
    norm: NormPlacement = "pre"
    positions: Positions = "learned"
    max_positions: int = 1024
    scale_embedding: bool = False
    attention: LanguageModelAttention = "full"
    block: int = 256
    stride: int = 3
    tied_output: bool = True

    def __post_init__(self) -> None:
        choices = {name: CHOICES[name] for name in ("activation", "norm", "positions")}
        choices["attention"] = get_args(LanguageModelAttention)
        counts = ("vocabulary", "d_model", "heads", "layers", "d_ff", "max_positions", "block", "stride")
        _check(self, counts, choices, ("scale_embedding", "tied_output"))

    # Under the names that `TransformerConfig` has for them: what reads a decoder reads a language model too.

    @property
    def d_head(self) -> int:
        """Width K of one head."""
        return self.d_model // self.heads

    @property
    def decoder_layers(self) -> int:
        return self.layers

    @property
    def target_vocabulary(self) -> int:
        return self.vocabulary

    @property
    def tied_embeddings(self) -> TiedEmbeddings:
        return "target" if self.tied_output else "none"

    @property
    def output_bias(self) -> bool:
        return False

    def to_json(self) -> str:
        return _json(self)

    @classmethod
    def from_json(cls, text: str) -> LanguageModelConfig:
        """Read what `to_json` wrote, as `TransformerConfig.from_json` does."""
        return cls(**_fields(cls, text, {"vocabulary"}))


def _json(config: TransformerConfig | LanguageModelConfig) -> str:
    """The fields as a JSON object.

    Seals are made of it, so a field that is younger than the first models is left out where it has its default.
    """
    values = asdict(config)
    for field in fields(config):
        if field.name in YOUNGER and values[field.name] == field.default:
            del values[field.name]
    return json.dumps(values, indent=2) + "\n"


def _fields(
    config: type[TransformerConfig] | type[LanguageModelConfig], text: str, required: set[str]
) -> dict[str, Any]:
    """The fields of a configuration that was written as JSON.

    Raises:
        ValueError: the text is no JSON object, or has a field too many or too few.
    """
    try:
        values = json.loads(text)
    except RecursionError:
        raise ValueError("the configuration is nested too deeply") from None
    if not isinstance(values, dict):
        raise ValueError(f"a configuration is a JSON object, not {type(values).__name__}")
    unknown = values.keys() - {field.name for field in fields(config)}
    if unknown:
        raise ValueError(f"unknown field in the configuration: {', '.join(sorted(unknown))}")
    missing = required - values.keys()
    if missing:
        raise ValueError(f"missing field in the configuration: {', '.join(sorted(missing))}")
    return values


def _check(
    config: TransformerConfig | LanguageModelConfig, counts: tuple[str, ...], choices: dict[str, tuple[str, ...]],
    flags: tuple[str, ...],
) -> None:
    """What every configuration is held to.

    Args:
        config: to be checked.
        counts, choices, flags: names of its whole numbers, of its choices with their values, and of what is true or
            false.

    Raises:
        ValueError: a value is out of range or two values do not fit together.
    """
    for name in counts:
        value = getattr(config, name)
        if type(value) is not int or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    for name, values in choices.items():
        if getattr(config, name) not in values:
            raise ValueError(f"{name} must be one of {', '.join(values)}, not {getattr(config, name)!r}")
    for name in flags:
        if type(getattr(config, name)) is not bool:
            raise ValueError(f"{name} must be true or false, not {getattr(config, name)!r}")
    if type(config.dropout) not in (int, float) or not 0 <= config.dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, not {config.dropout!r}")
    if config.d_model % config.heads:
        raise ValueError(f"d_model must be a multiple of heads: {config.d_model} is no multiple of {config.heads}")
    if config.d_model % 2 and config.positions.startswith("sinusoidal"):
        raise ValueError(f"sinusoidal positions need an even d_model, not {config.d_model}")
