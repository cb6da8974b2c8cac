"""Defines `Trace`: an immutable record of a model's computation for one text.

Letters: L layers, H heads, S source tokens, T target tokens, D model width, K head width, C candidates.

The arrays:

- encoder [L, H, S, S]: encoder self-attention weights; rows are queries, columns are keys, each row sums to 1.
- decoder [L, H, T, T]: masked self-attention weights.
- cross [L, H, T, S]: cross-attention weights; rows are the target, columns the source.
- encoder_mask [S, S]: bool mask for `encoder`, True if the query can see the key; shared by all layers and heads.
- decoder_mask [T, T]: bool mask for `decoder`; causal, unless an intervention switched the decoder mask off.
- cross_mask [T, S]: bool mask for `cross`.
- log_probs [T]: log-probability of each predicted token, nats.
- entropy [T]: entropy of each predicted distribution over the whole vocabulary, nats.
- candidate_ids [T, C]: ids of the most likely next tokens, best first.
- candidate_log_probs [T, C]: the candidates' log-probabilities, nats.

The details, returned by `Trace.detail`, `Trace.residual` and `Trace.feed_forward`, are optional. KIND is `encoder`,
`decoder` or `cross`. The shapes below are for `cross`. For `encoder`, both T and S are the number of source tokens; for
`decoder`, both are the number of target tokens.

- KIND_scores [L, H, T, S]: queries times keys divided by sqrt(K), with position biases, before masking.
- KIND_queries [L, H, T, K].
- KIND_keys [L, H, S, K].
- KIND_values [L, H, S, K].
- KIND_outputs [L, H, T, K]: each head's weighted sum of values, after any intervention, before the output projection.
- encoder_residual [2L + 1, S, D]: the encoder's residual stream: the embeddings, then the sum after every sub-layer.
- decoder_residual [3L + 1, T, D]: the decoder's residual stream; [2L + 1, T, D] for a language model.
- encoder_feed_forward [L, S, D]: outputs of the encoder's feed-forward networks.
- decoder_feed_forward [L, T, D]: outputs of the decoder's feed-forward networks.

Files of older versions lack the outputs of the feed-forward networks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Literal

import numpy as np

from transformer.values.foreign_attention import Side, fields_of
from transformer.values.foreign_tokens import Offsets
from transformer.values.interventions import Interventions
from transformer.values.kinds import KINDS as KINDS
from transformer.values.kinds import Kind as Kind
from transformer.values.kinds import Stack as Stack
from transformer.values.tokens import Token

Part = Literal["self_attention", "cross_attention", "feed_forward"]
Detail = Literal["scores", "queries", "keys", "values", "outputs"]

STACKS: tuple[Stack, ...] = ("encoder", "decoder")
# The text that each stack reads.
SIDES: Mapping[Stack, str] = {"encoder": "source", "decoder": "target"}
DETAILS: tuple[Detail, ...] = ("scores", "queries", "keys", "values", "outputs")
# Sub-layers of each layer, in the order of execution.
PARTS: Mapping[Stack, tuple[Part, ...]] = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}
# Token fields and their names in files. The files still use the field names from older versions.
STORED = {"source_tokens": "source_pieces", "target_tokens": "target_pieces", "predicted_tokens": "predicted_pieces"}
TEXTS = ("source_text", "target_text", "complete", "model")
# Suffix of the model version in the trace of a run with hooks. Such a run cannot be repeated from its trace.
HOOKED = " with hooks"


@dataclass(frozen=True, eq=False)
class Trace:
    """A text, its translation, and all attention weights in the model; the module's docstring lists the arrays.

    >>> from transformer import Translator
    >>> trace = Translator.load().trace("I have a dream.", details=True)
    >>> trace.target_text
    'Ich habe einen Traum.'
    >>> trace.cross.shape  # layers, heads, target tokens, source tokens
    (6, 8, 6, 6)
    >>> bool(abs(trace.cross.sum(axis=-1) - 1).max() < 1e-5)
    True
    >>> trace.detail("cross", "scores").shape
    (6, 8, 6, 6)
    >>> before, after = trace.residual("decoder", 0, "cross_attention")
    >>> after.shape  # target tokens, model width
    (6, 256)

    Attributes:
        source_text: text as typed; empty for a language model, which has no source.
        target_text: the model's translation, or the one passed to the model; for a language model, the text it reads.
        source_tokens: the encoder's S input tokens; the last is the end symbol.
        target_tokens: the decoder's T input tokens, beginning with the start symbol.
        predicted_tokens: T tokens; the decoder reads target_tokens[t] and predicts predicted_tokens[t]. Empty for
            imported attention without the last prediction.
        complete: False if the translation reached the length limit before the end symbol.
        details: float32 arrays by name; empty unless requested. See `detail`, `residual`, `residual_stream` and
            `feed_forward`.
        interventions: interventions that the model ran with.
        model: the model's `Translator.version`, followed by HOOKED if the run had hooks; empty if unknown, as in files
            of older versions.
    """

    source_text: str
    target_text: str
    source_tokens: tuple[Token, ...]
    target_tokens: tuple[Token, ...]
    predicted_tokens: tuple[Token, ...]
    complete: bool
    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray
    encoder_mask: np.ndarray
    decoder_mask: np.ndarray
    cross_mask: np.ndarray
    log_probs: np.ndarray
    entropy: np.ndarray
    candidate_ids: np.ndarray
    candidate_log_probs: np.ndarray
    details: Mapping[str, np.ndarray]
    interventions: Interventions
    model: str = ""

    # Aliases used by the published examples of version 0.1.0.
    source_pieces = property(attrgetter("source_tokens"))
    target_pieces = property(attrgetter("target_tokens"))
    predicted_pieces = property(attrgetter("predicted_tokens"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))
        for array in self._arrays().values():
            array.setflags(write=False)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Attention kinds that the trace contains; only "decoder" for a language model."""
        return tuple(kind for kind in KINDS if self.attention(kind).size)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """The model's stacks: "encoder" if there are source tokens, "decoder" if there are target tokens."""
        return tuple(stack for stack in STACKS if (self.source_tokens if stack == "encoder" else self.target_tokens))

    def parts(self, stack: Stack) -> tuple[Part, ...]:
        """Return the sub-layers in each layer of a stack, in the order of execution."""
        return tuple(part for part in PARTS[stack] if part != "cross_attention" or "cross" in self.kinds)

    @property
    def text(self) -> str:
        """The source text; for a language model, which has no source, the whole text it read."""
        return self.source_text if self.source_tokens else self.target_text

    def attention(self, kind: Kind) -> np.ndarray:
        """Return the attention weights of an attention kind, [L, H, rows, columns]."""
        return {"encoder": self.encoder, "decoder": self.decoder, "cross": self.cross}[kind]

    def mask(self, kind: Kind) -> np.ndarray:
        """Return the mask of an attention kind, bool [rows, columns]; True if the query can see the key."""
        return {"encoder": self.encoder_mask, "decoder": self.decoder_mask, "cross": self.cross_mask}[kind]

    def query_tokens(self, kind: Kind) -> tuple[Token, ...]:
        """Return the query tokens, which label the rows of an attention map."""
        return self.source_tokens if kind == "encoder" else self.target_tokens

    def key_tokens(self, kind: Kind) -> tuple[Token, ...]:
        """Return the key tokens, which label the columns of an attention map."""
        return self.target_tokens if kind == "decoder" else self.source_tokens

    def detail(self, kind: Kind, name: Detail) -> np.ndarray:
        """Return an attention kind's array of the given name.

        Scores have the shape [L, H, rows, columns]; queries, keys, values and outputs have the shape [L, H, tokens, K].

        Raises:
            ValueError: the trace was not computed with `details=True`.
        """
        return self._requested(f"{kind}_{name}")

    def residual(self, stack: Stack, layer: int, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual stream before and after a sub-layer, [N, D] each, for N tokens.

        Args:
            stack: "encoder" or "decoder".
            layer: 0-based index of the layer in the stack.
            part: one of `parts(stack)`.

        Raises:
            ValueError: the trace was not computed with `details=True`, or the stack has no such part.
        """
        parts = self.parts(stack)
        before = layer * len(parts) + parts.index(part)
        stream = self.residual_stream(stack)
        return stream[before], stream[before + 1]

    def residual_stream(self, stack: Stack) -> np.ndarray:
        """Return the residual stream before the first sub-layer of a stack and after every sub-layer, [P L + 1, N, D].

        P is the number of sub-layers in a layer, N the number of tokens.

        Raises:
            ValueError: the trace was not computed with `details=True`.
        """
        return self._requested(f"{stack}_residual")

    def feed_forward(self, stack: Stack) -> np.ndarray:
        """Return the output of every feed-forward network of a stack, [L, N, D], for N tokens.

        Raises:
            ValueError: the trace was not computed with `details=True`.
        """
        return self._requested(f"{stack}_feed_forward")

    def _requested(self, name: str) -> np.ndarray:
        if name not in self.details:
            raise ValueError(f"this trace has no {name}: compute the trace with details=True")
        return self.details[name]

    def equals(self, other: Trace) -> bool:
        """Whether two traces have identical texts, tokens, interventions and arrays."""
        mine, theirs = self._arrays(), other._arrays()
        return (
            self._words() == other._words()
            and mine.keys() == theirs.keys()
            and all(np.array_equal(array, theirs[name]) for name, array in mine.items())
        )

    @classmethod
    def from_attention(
        cls,
        *,
        encoder: Any = None,
        decoder: Any = None,
        cross: Any = None,
        source_tokens: Sequence[str | Token] = (),
        target_tokens: Sequence[str | Token] = (),
        source_text: str | None = None,
        target_text: str | None = None,
        source_offsets: Offsets | None = None,
        target_offsets: Offsets | None = None,
        source_mask: Any = None,
        target_mask: Any = None,
        item: int | None = None,
        beam_indices: Any = None,
        model: str = "",
    ) -> Trace:
        """Build a trace from attention weights computed by another program; everything else is left empty.

        >>> weights = np.full((1, 2, 2, 2), 0.5)  # layers, heads, rows, columns
        >>> trace = Trace.from_attention(encoder=weights, source_tokens=["Hello", "world"])
        >>> trace.kinds, trace.text
        (('encoder',), 'Hello world')

        Args:
            encoder, decoder, cross: numpy, torch or jax arrays of any precision, in one of these layouts:

                - [L, H, rows, columns];
                - a list of layers [1, H, rows, columns], as returned by Hugging Face models;
                - a list of steps, each a list of layers, as returned by `generate`.

                For a model with one stack, pass `encoder`, or `decoder` if attention is causal.
            source_tokens, target_tokens: one token for each row or column, including special tokens, as spelled in the
                vocabulary. An extra target token at the end is the last row's prediction.
            source_text, target_text: texts that the offsets refer to; None builds each text from its tokens.
            source_offsets, target_offsets: a tokenizer's `offset_mapping`: character span [start, end) of each token.
            source_mask, target_mask: a tokenizer's `attention_mask`: 1 for tokens, 0 for padding. Padding is removed.
            item: index of the text in the batch; None if the batch has one text.
            beam_indices: `beam_indices` as returned by `generate` after beam search.
            model: the model's name.

        Raises:
            AttentionError: an array does not contain attention weights, or does not match the tokens; the message says
                what to do.
        """
        return cls(
            model=model,
            **fields_of(
                {"encoder": encoder, "decoder": decoder, "cross": cross},
                Side("source", source_tokens, source_text, source_offsets, source_mask, item),
                Side("target", target_tokens, target_text, target_offsets, target_mask, item),
                beam_indices=beam_indices,
            ),
        )

    def to_npz(self, file: Path | BinaryIO) -> None:
        """Write a compressed .npz archive of all arrays, to a path or an open file.

        `source_pieces`, `target_pieces` and `predicted_pieces` are arrays of strings. `words` is a JSON document as
        bytes: texts, model version, interventions and all token attributes.
        """
        spellings = {stored: np.array([token.text for token in getattr(self, name)]) for name, stored in STORED.items()}
        # numpy would append .npz to a path with another extension, so pass an open file.
        with Path(file).open("wb") if isinstance(file, str | Path) else nullcontext(file) as opened:
            np.savez_compressed(opened, allow_pickle=False, **spellings, **self.to_arrays())

    @classmethod
    def from_npz(cls, file: Path | BinaryIO) -> Trace:
        """Read a file written by `to_npz`."""
        with np.load(file, allow_pickle=False) as saved:
            return cls.from_arrays({name: saved[name] for name in saved.files if name not in STORED.values()})

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays by name, including `words`, which `to_npz` describes."""
        words = np.frombuffer(json.dumps(self._words()).encode("ascii"), dtype=np.uint8)
        return {"words": words, **self._arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Trace:
        """Restore a trace from arrays returned by `to_arrays`."""
        own = dict(arrays)
        return cls._of(json.loads(own.pop("words").tobytes()), own)

    def to_bertviz(self) -> dict[str, Any]:
        """Return keyword arguments for BertViz's `model_view` and `head_view` (Vig 2019).

        Attention weights are lists of float32 tensors [1, H, rows, columns], one per layer, as returned by Hugging Face
        models. Tokens are given as `Token.text`. A model with one stack yields `attention` and `tokens`.
        """
        # Imported here, so that reading a trace does not require torch.
        import torch

        def layers(weights: np.ndarray) -> list[torch.Tensor]:
            return [torch.tensor(layer)[None] for layer in weights]

        if len(self.stacks) == 1:
            (kind,) = self.kinds
            tokens = [token.text for token in self.query_tokens(kind)]
            return {"attention": layers(self.attention(kind)), "tokens": tokens}
        return {
            **{f"{kind}_attention": layers(self.attention(kind)) for kind in self.kinds},
            "encoder_tokens": [token.text for token in self.source_tokens],
            "decoder_tokens": [token.text for token in self.target_tokens],
        }

    def to_inseq(self) -> Any:
        """Convert the attention to the output format of Inseq's "attention" method (Sarti et al. 2023).

        Cross-attention becomes source attributions [S, T, L, H]. Masked attention becomes target attributions
        [T + 1, T, L, H], with NaN for the last token, which the decoder never reads. The encoder's attention is stored
        in `sequence_scores`.

        Raises:
            ImportError: inseq is not installed.
        """
        import torch
        from inseq.data.attribution import MultiDimensionalFeatureAttributionSequenceOutput  # pyright: ignore[reportMissingImports]
        from inseq.utils.typing import TokenWithId  # pyright: ignore[reportMissingImports]

        def by_column(weights: np.ndarray) -> torch.Tensor:
            """Reorder the axes [L, H, rows, columns] to [columns, rows, L, H]."""
            return torch.tensor(weights.transpose(3, 2, 0, 1).copy())

        source, target = (
            [TokenWithId(token.text, token.id) for token in tokens]
            for tokens in (self.source_tokens, (self.target_tokens[0], *self.predicted_tokens))
        )
        read = by_column(self.decoder)
        return MultiDimensionalFeatureAttributionSequenceOutput(
            source=source,
            target=target,
            source_attributions=by_column(self.cross),
            target_attributions=torch.cat([read, torch.full_like(read[:1], torch.nan)]),
            sequence_scores={"encoder_self_attentions": by_column(self.encoder)},
            attr_pos_start=1,
            attr_pos_end=len(target),
            _num_dimensions=2,
        )

    def to_json(self) -> str:
        """Return the trace as a JSON object, with every array's dtype, shape and flattened values at full precision."""
        arrays = {
            name: {"dtype": str(array.dtype), "shape": array.shape, "values": array.ravel().tolist()}
            for name, array in self._arrays().items()
        }
        return json.dumps({**self._words(), "arrays": arrays}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Restore a trace from JSON written by `to_json`."""
        words = json.loads(text)
        arrays = {
            name: np.array(array["values"], dtype=array["dtype"]).reshape(array["shape"])
            for name, array in words.pop("arrays").items()
        }
        return cls._of(words, arrays)

    def _arrays(self) -> dict[str, np.ndarray]:
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in own.items() if isinstance(value, np.ndarray)} | dict(self.details)

    def _words(self) -> dict[str, Any]:
        """Return all fields except the arrays, as values that JSON can represent."""
        words: dict[str, Any] = {name: getattr(self, name) for name in TEXTS}
        words["interventions"] = asdict(self.interventions)
        for name, stored in STORED.items():
            words[stored] = [
                {**asdict(token), "span": None if token.span is None else list(token.span)}
                for token in getattr(self, name)
            ]
        return words

    @classmethod
    def _of(cls, words: dict[str, Any], arrays: dict[str, np.ndarray]) -> Trace:
        tokens = {
            name: tuple(
                Token(**{**token, "span": None if token["span"] is None else tuple(token["span"])})
                for token in words[stored]
            )
            for name, stored in STORED.items()
        }
        own = {field.name for field in fields(cls)}
        values: dict[str, Any] = {name: array for name, array in arrays.items() if name in own}
        values |= {name: words[name] for name in TEXTS if name in words} | tokens
        return cls(
            **values,
            details={name: array for name, array in arrays.items() if name not in own},
            interventions=Interventions(**words["interventions"]),
        )
