"""The configuration of a Transformer, validated on creation and stored beside the weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from transformer.generation import Generation

# GPT-2 uses "gelu_tanh", the tanh approximation of the Gaussian error linear unit.
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
NormPlacement = Literal["pre", "post"]
# Attention kinds: self-attention in the encoder and in the decoder, and cross-attention.
Kind = Literal["encoder", "decoder", "cross"]
Attention = Literal["full", "local", "compressed"]
Positions = Literal["sinusoidal", "sinusoidal_halves", "sinusoidal_fairseq", "learned", "rotary", "alibi", "none"]
# Positional encodings that change the attention scores instead of the embeddings.
RELATIVE = ("rotary", "alibi")
TiedEmbeddings = Literal["none", "target", "all"]

CHOICES = {
    "activation": get_args(Activation),
    "norm": get_args(NormPlacement),
    "positions": get_args(Positions),
    "tied_embeddings": get_args(TiedEmbeddings),
}
COUNTS = ("d_model", "heads", "d_ff", "max_positions", "block", "stride")
# Fields omitted from config.json if they have their default value, because older versions of this project reject them.
OMITTED_DEFAULTS = ("unapplied", "attention", "block", "stride", "embedding_norm", "generation")
# Limit on both the number of entries in `unapplied` and the number of characters per entry.
MAX_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and design choices of a Transformer ("Attention Is All You Need", section 3, table 3).

    A model with layers in both stacks is an encoder-decoder. If `encoder_layers` is 0, the model is a decoder-only
    language model without cross-attention (see `decoder_only`). If `decoder_layers` is 0, the model is encoder-only.

    The defaults are the paper's base model, except for the placement of the layer norms: "pre" trains without a long
    warm-up (Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture").

    Attributes:
        source_vocabulary, target_vocabulary: number of tokens V on each side; 0 for a stack without layers.
        d_model: width D of the residual stream; a multiple of `heads`, and even for sinusoidal positions.
        heads: number of heads H in every attention layer.
        encoder_layers, decoder_layers: number of layers L in each stack; 0 omits the stack.
        d_ff: width F of the position-wise feed-forward network.
        dropout: dropout rate in training, applied to each sub-layer's output, to the embeddings (section 5.4), and to
            the attention weights.
        activation: activation function of the feed-forward network.
        norm: "post", as in the paper: x = norm(x + f(x)); "pre": x = x + f(norm(x)), and each stack ends in a norm.
        positions: "sinusoidal" interleaves sine and cosine (section 3.5); "sinusoidal_halves" puts all sines before all
            cosines; "sinusoidal_fairseq" does so with fairseq's frequencies, starting at position 2. "learned" has
            one vector for each of `max_positions`; "rotary" rotates the queries and keys in self-attention (Su et al.
            2021); "alibi" subtracts from each score a penalty that grows with distance (Press et al. 2022); "none" adds
            no positional encoding.
        max_positions: number of learned positions; the other encodings have no limit.
        tied_embeddings: "target": the output layer shares the target embedding's weights; "all": the source embedding
            also shares these weights (section 3.4), which needs a joint vocabulary; "none": nothing is shared.
        scale_embedding: whether to multiply embeddings by sqrt(D) (section 3.4).
        output_bias: whether the output layer has a bias.
        embedding_norm: whether to normalise the sum of embeddings and positions, as BART does.
        generation: Hugging Face generation settings of an imported model; with them, beam search follows
            `generate`'s rules for stopping and for ranking hypotheses. None for a model trained by this project.
        unapplied: generation settings of an imported model that are not supported, such as "num_beams 6".
        attention: what a position in a language model may look at. "full": all positions up to itself; "local":
            the positions up to itself in its own block; "compressed": keys and values that a convolution merges from
            several positions (Liu et al. 2018, "Generating Wikipedia by Summarizing Long Sequences", section 4.2.3).
        block: number of positions in a block of local attention.
        stride: number of positions that compressed attention merges into one key, and the convolution's kernel width.

    Raises:
        ValueError: a value is out of range, or two values are incompatible; the message names the fields.
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
    attention: Attention = "full"
    block: int = 256
    stride: int = 3
    embedding_norm: bool = False
    generation: Generation | None = None

    def __post_init__(self) -> None:
        self._check_values()
        self._check_stacks()
        if self.tied_embeddings == "all" and self.source_vocabulary != self.target_vocabulary:
            raise ValueError(
                "tied_embeddings='all' needs one joint vocabulary, but source_vocabulary is "
                f"{self.source_vocabulary} and target_vocabulary is {self.target_vocabulary}"
            )
        if self.d_model % self.heads:
            raise ValueError(f"d_model must be a multiple of heads: {self.d_model} is not a multiple of {self.heads}")
        if self.d_model % 2 and self.positions.startswith("sinusoidal"):
            raise ValueError(f"sinusoidal positions need an even d_model, not {self.d_model}")
        if self.d_head % 2 and self.positions == "rotary":
            raise ValueError(f"rotary positions need an even head width, not {self.d_head}")

    @property
    def d_head(self) -> int:
        """Width K of one head."""
        return self.d_model // self.heads

    @property
    def position_limit(self) -> int | None:
        """Maximum number of tokens in a sequence, set by learned positions; None if the positions set no limit."""
        return self.max_positions if self.positions == "learned" else None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Attention kinds in the model."""
        return tuple(kind for kind in get_args(Kind) if self.layers_of(kind))

    def layers_of(self, kind: Kind) -> int:
        """Return the number of layers L with an attention kind; 0 for cross-attention unless both stacks exist."""
        if kind == "encoder":
            return self.encoder_layers
        return self.decoder_layers if kind == "decoder" or self.encoder_layers else 0

    def to_json(self) -> str:
        """Serialise the fields as a JSON object.

        A model folder's checksum covers this JSON, so fields added in later versions are omitted if they have their
        default value.
        """
        values = asdict(self)
        for field in fields(self):
            if field.name in OMITTED_DEFAULTS and values[field.name] == field.default:
                del values[field.name]
        return json.dumps(values, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> TransformerConfig:
        """Parse JSON written by `to_json` or, for old language models, by an older version of the program.

        Raises:
            ValueError: the text is not a JSON object, or has an unknown, missing or invalid field.
        """
        values = _parse_object(text)
        if "vocabulary" in values:
            _check_names(values, LANGUAGE_MODEL_FIELDS, {"vocabulary"})
            return decoder_only(**values)
        _check_names(values, {field.name for field in fields(cls)}, {"source_vocabulary", "target_vocabulary"})
        if isinstance(values.get("unapplied"), list):
            values["unapplied"] = tuple(values["unapplied"])
        if values.get("generation") is not None:
            # Import msgspec here, because a notebook environment that only displays arrays may not have it.
            import msgspec

            try:
                values["generation"] = msgspec.convert(values["generation"], Generation)
            except msgspec.ValidationError as error:
                raise ValueError(f"generation: {error}") from None
        return cls(**values)

    def _check_values(self) -> None:
        for name in COUNTS:
            _check_integer(name, getattr(self, name), 1)
        for name in ("source_vocabulary", "target_vocabulary", "encoder_layers", "decoder_layers"):
            _check_integer(name, getattr(self, name), 0)
        for name, values in {**CHOICES, "attention": get_args(Attention)}.items():
            if getattr(self, name) not in values:
                raise ValueError(f"{name} must be one of {', '.join(values)}, not {getattr(self, name)!r}")
        for name in ("scale_embedding", "output_bias", "embedding_norm"):
            if type(getattr(self, name)) is not bool:
                raise ValueError(f"{name} must be true or false, not {getattr(self, name)!r}")
        if type(self.dropout) not in (int, float) or not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, not {self.dropout!r}")
        if (
            not isinstance(self.unapplied, tuple)
            or len(self.unapplied) > MAX_CHARACTERS
            or not all(isinstance(each, str) and len(each) <= MAX_CHARACTERS for each in self.unapplied)
        ):
            raise ValueError(
                f"unapplied must be at most {MAX_CHARACTERS} strings of at most {MAX_CHARACTERS} characters each, not "
                f"{self.unapplied!r:.60}"
            )

    def _check_stacks(self) -> None:
        """Check that there is a stack, and that the other fields are compatible with the stacks and with each other."""
        if not self.encoder_layers and not self.decoder_layers:
            raise ValueError("encoder_layers and decoder_layers are both 0: at least one must be positive")
        for side, stack in (("source", "encoder"), ("target", "decoder")):
            layers, size = getattr(self, f"{stack}_layers"), getattr(self, f"{side}_vocabulary")
            if bool(layers) != bool(size):
                raise ValueError(
                    f"{stack}_layers is {layers}, and {side}_vocabulary is {size}: both must be 0, or neither"
                )
        if self.tied_embeddings != "none" and not self.decoder_layers:
            raise ValueError(f"tied_embeddings={self.tied_embeddings!r} needs a decoder, but decoder_layers is 0")
        if self.attention == "compressed" and self.positions in RELATIVE:
            raise ValueError(
                f"compressed keys represent several positions, but positions={self.positions!r} needs one position per "
                "key"
            )
        if self.attention != "full" and self.encoder_layers:
            raise ValueError(f"attention={self.attention!r} needs encoder_layers=0, not {self.encoder_layers}")


# Fields of config.json in old language models, which had their own configuration class.
LANGUAGE_MODEL_FIELDS = {
    "vocabulary",
    "d_model",
    "heads",
    "layers",
    "d_ff",
    "dropout",
    "activation",
    "norm",
    "positions",
    "max_positions",
    "scale_embedding",
    "attention",
    "block",
    "stride",
    "tied_output",
}


def decoder_only(vocabulary: int, *, layers: int = 12, tied_output: bool = True, **choices: Any) -> TransformerConfig:
    """Return the configuration of a language model; the defaults are those of the smallest GPT-2.

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3.

    Args:
        vocabulary: number of tokens V.
        layers: number of layers, each with masked self-attention and a feed-forward network.
        tied_output: whether the output layer shares the embedding's weights.
        choices: other fields of `TransformerConfig`.

    Raises:
        ValueError: as in `TransformerConfig`.
    """
    if type(tied_output) is not bool:
        raise ValueError(f"tied_output must be true or false, not {tied_output!r}")
    gpt2 = {
        "d_model": 768,
        "heads": 12,
        "d_ff": 3072,
        "activation": "gelu_tanh",
        "positions": "learned",
        "max_positions": 1024,
        "scale_embedding": False,
    }
    return TransformerConfig(
        source_vocabulary=0,
        target_vocabulary=vocabulary,
        encoder_layers=0,
        decoder_layers=layers,
        output_bias=False,
        tied_embeddings="target" if tied_output else "none",
        **{**gpt2, **choices},
    )


def _parse_object(text: str) -> dict[str, Any]:
    """Parse a configuration's JSON object.

    Raises:
        ValueError: the text is not a JSON object.
    """
    try:
        values = json.loads(text)
    except RecursionError:
        raise ValueError("the configuration is nested too deeply") from None
    if not isinstance(values, dict):
        raise ValueError(f"a configuration must be a JSON object, not {type(values).__name__}")
    return values


def _check_names(values: dict[str, Any], allowed: set[str], required: set[str]) -> None:
    unknown = values.keys() - allowed
    if unknown:
        raise ValueError(f"unknown field in the configuration: {', '.join(sorted(unknown))}")
    missing = required - values.keys()
    if missing:
        raise ValueError(f"missing field in the configuration: {', '.join(sorted(missing))}")


def _check_integer(name: str, value: object, least: int) -> None:
    if type(value) is not int or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
