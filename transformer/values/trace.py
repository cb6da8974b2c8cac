"""The trace of a run: an immutable value with everything that the run computed.

Letters: L layers, H heads, S source tokens, T target tokens, D model width, K head width, C candidates.

The arrays:

- encoder [L, H, S, S]: encoder self-attention weights; rows are queries, columns are keys, each row sums to 1.
- decoder [L, H, T, T]: masked self-attention weights.
- cross [L, H, T, S]: cross-attention weights; rows are the target, columns the source.
- encoder_mask [S, S]: bool, True if the query can see the key; the same for every layer and head.
- decoder_mask [T, T]: the mask of `decoder`; all True if the run did not use the decoder mask.
- cross_mask [T, S]: the mask of `cross`.
- log_probs [T]: log-probability of each predicted token, nats.
- entropy [T]: entropy of each distribution over the whole vocabulary, nats.
- candidate_ids [T, C]: the most likely next tokens, best first.
- candidate_log_probs [T, C]: their log-probabilities, nats.

The details exist for each kind (`encoder`, `decoder`, `cross`); `Trace.detail` and `Trace.residual` return them. The
shapes below are those of `cross`. In the encoder, both T and S count source tokens; in the decoder, both
count target tokens.

- KIND_scores [L, H, T, S]: queries times keys over sqrt(K), before the mask.
- KIND_queries [L, H, T, K].
- KIND_keys [L, H, S, K].
- KIND_values [L, H, S, K].
- KIND_outputs [L, H, T, K]: each head's weighted sum of values, times its gate, before the output projection.
- encoder_residual [2L + 1, S, D]: the residual stream, which is the embeddings, then the sum after every sub-layer.
- decoder_residual [3L + 1, T, D]: the decoder's residual stream; of a language model [2L + 1, T, D].
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
# The sub-layers of a layer, in the order in which they run.
PARTS: Mapping[Stack, tuple[Part, ...]] = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}
# The tokens' fields, and their names in files, which older versions also write and read.
STORED = {"source_tokens": "source_pieces", "target_tokens": "target_pieces", "predicted_tokens": "predicted_pieces"}
TEXTS = ("source_text", "target_text", "complete", "model")


@dataclass(frozen=True, eq=False)
class Trace:
    """One sentence, its translation, and all attention in both; the module's docstring lists the arrays.

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
        target_text: the model's translation, or the one passed in; the text that a language model reads.
        source_tokens: S tokens that the encoder reads; the end symbol is the last.
        target_tokens: T tokens that the decoder reads, beginning with the start symbol; they are its queries and keys.
        predicted_tokens: T tokens; each decoder row reads target_tokens[t] and predicts predicted_tokens[t]. Empty if
            the trace was made from another program's attention that does not include the last prediction.
        complete: False if the length limit ended the translation before the end symbol.
        details: arrays by name, float32; empty unless requested. See `detail`, `residual` and `residual_stream`.
        interventions: interventions of the run.
        model: `Translator.version` of the model that ran; empty if it is unknown, as in files of older versions.
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

    # The names in the examples of version 0.1.0.
    source_pieces = property(attrgetter("source_tokens"))
    target_pieces = property(attrgetter("target_tokens"))
    predicted_pieces = property(attrgetter("predicted_tokens"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))
        for array in self._arrays().values():
            array.setflags(write=False)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of attention in the trace; for a language model, only the decoder's."""
        return tuple(kind for kind in KINDS if self.attention(kind).size)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """The stacks of layers that the model has."""
        return tuple(stack for stack in STACKS if (self.source_tokens if stack == "encoder" else self.target_tokens))

    def parts(self, stack: Stack) -> tuple[Part, ...]:
        """The sub-layers of each layer of a stack, in the order in which they run."""
        return tuple(part for part in PARTS[stack] if part != "cross_attention" or "cross" in self.kinds)

    @property
    def text(self) -> str:
        """The user's text: the source; for a language model, which has no source, the text with its continuation."""
        return self.source_text if self.source_tokens else self.target_text

    def attention(self, kind: Kind) -> np.ndarray:
        """Attention weights of a kind, [L, H, rows, columns]."""
        return {"encoder": self.encoder, "decoder": self.decoder, "cross": self.cross}[kind]

    def mask(self, kind: Kind) -> np.ndarray:
        """Attention mask of a kind, bool [rows, columns]; True if the query can see the key."""
        return {"encoder": self.encoder_mask, "decoder": self.decoder_mask, "cross": self.cross_mask}[kind]

    def query_tokens(self, kind: Kind) -> tuple[Token, ...]:
        """The tokens of the rows, which are the queries."""
        return self.source_tokens if kind == "encoder" else self.target_tokens

    def key_tokens(self, kind: Kind) -> tuple[Token, ...]:
        """The tokens of the columns, which are the keys."""
        return self.target_tokens if kind == "decoder" else self.source_tokens

    def detail(self, kind: Kind, name: Detail) -> np.ndarray:
        """Scores of a kind, [L, H, rows, columns], or its queries, keys, values or outputs, [L, H, tokens, K].

        Raises:
            ValueError: the trace has no details.
        """
        return self._requested(f"{kind}_{name}")

    def residual(self, stack: Stack, layer: int, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """The residual stream before and after a sub-layer, [N, D] each, for N tokens.

        Args:
            stack: "encoder" or "decoder".
            layer: index of the layer in the stack, from 0.
            part: one of `parts(stack)`.

        Raises:
            ValueError: the trace has no details, or the stack has no such part.
        """
        parts = self.parts(stack)
        before = layer * len(parts) + parts.index(part)
        stream = self.residual_stream(stack)
        return stream[before], stream[before + 1]

    def residual_stream(self, stack: Stack) -> np.ndarray:
        """The residual stream before the first sub-layer of a stack and after each, [P L + 1, N, D].

        P is the number of sub-layers of a layer, N the number of tokens.

        Raises:
            ValueError: the trace has no details.
        """
        return self._requested(f"{stack}_residual")

    def _requested(self, name: str) -> np.ndarray:
        if name not in self.details:
            raise ValueError(f"this trace has no {name}: compute it with details=True")
        return self.details[name]

    def equals(self, other: Trace) -> bool:
        """Whether every text, token and number is the same."""
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
        """Build a trace from attention that another program computed; unknown parts are empty.

        >>> weights = np.full((1, 2, 2, 2), 0.5)  # layers, heads, rows, columns
        >>> trace = Trace.from_attention(encoder=weights, source_tokens=["Hello", "world"])
        >>> trace.kinds, trace.text
        (('encoder',), 'Hello world')

        Args:
            encoder, decoder, cross: arrays of numpy, torch or jax, of any precision, in one of these forms:

                - [L, H, rows, columns];
                - a list of layers [1, H, rows, columns], as Hugging Face's models return them;
                - a list of steps, each a list of layers, as `generate` returns it.

                A model with one stack gives `encoder`, or `decoder` if no token looks ahead.
            source_tokens, target_tokens: one for each row or column, including special tokens, as the vocabulary
                spells them. One more target token is the prediction of the last row.
            source_text, target_text: the texts that the offsets refer to; without offsets, the text that the tokens
                spell.
            source_offsets, target_offsets: characters [start, end) of each token: `offset_mapping` of a tokenizer.
            source_mask, target_mask: 1, or 0 for padding, which is left out: `attention_mask` of a tokenizer.
            item: index of the text in a batch.
            beam_indices: the `beam_indices` that `generate` returned after beam search.
            model: a name of the model.

        Raises:
            AttentionError: the arrays are not weights, or do not match the tokens; the message says what to do.
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

        `source_pieces`, `target_pieces` and `predicted_pieces` are arrays of strings. `words` is a JSON document, as
        bytes: the texts, the model's version, the run's interventions and all attributes of the tokens.
        """
        spellings = {stored: np.array([token.text for token in getattr(self, name)]) for name, stored in STORED.items()}
        # The file is opened here, because numpy appends .npz to a path with another ending.
        with Path(file).open("wb") if isinstance(file, str | Path) else nullcontext(file) as opened:
            np.savez_compressed(opened, allow_pickle=False, **spellings, **self.to_arrays())

    @classmethod
    def from_npz(cls, file: Path | BinaryIO) -> Trace:
        """Read a file written by `to_npz`."""
        with np.load(file, allow_pickle=False) as saved:
            return cls.from_arrays({name: saved[name] for name in saved.files if name not in STORED.values()})

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, with `words`: the content of `to_npz` without the tokens' texts."""
        words = np.frombuffer(json.dumps(self._words()).encode("ascii"), dtype=np.uint8)
        return {"words": words, **self._arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Trace:
        """Restore a trace from the arrays of `to_arrays`."""
        own = dict(arrays)
        return cls._of(json.loads(own.pop("words").tobytes()), own)

    def to_bertviz(self) -> dict[str, Any]:
        """The arguments of BertViz's `model_view` and `head_view` (Vig 2019).

        Each attention is a list of float32 tensors [1, H, rows, columns], one per layer, as Hugging Face's models
        return it. The tokens are spelled as in the vocabulary. A model with one stack has `attention` and `tokens`.
        """
        # torch is imported here, so that a trace can be read without torch.
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
        """The attention in the form of Inseq's method "attention" (Sarti et al. 2023), for Inseq to show or aggregate.

        A column is a predicted token. Cross-attention becomes source attributions [S, T, L, H]. Masked attention
        becomes target attributions [T + 1, T, L, H], with NaN for the last token, which no row reads. The encoder's
        attention is in `sequence_scores`.

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
        """The whole trace as one JSON object; arrays are nested lists, with every digit."""
        arrays = {
            name: {"dtype": str(array.dtype), "shape": array.shape, "values": array.ravel().tolist()}
            for name, array in self._arrays().items()
        }
        return json.dumps({**self._words(), "arrays": arrays}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Read the JSON of `to_json`."""
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
        """All fields except the arrays, for JSON."""
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
