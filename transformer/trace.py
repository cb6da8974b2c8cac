"""What one run computed, as a value that never changes.

Letters: L layers, H heads, S source pieces, T target pieces, D model width, K head width, C candidates.

=====================  ==============  =====================================================================
array                  shape           what it is
=====================  ==============  =====================================================================
encoder                [L, H, S, S]    encoder self-attention weights; rows query, columns key, rows sum to 1
decoder                [L, H, T, T]    masked self-attention weights
cross                  [L, H, T, S]    cross-attention weights: rows target, columns source
encoder_mask           [S, S]          bool, True = may look; the same for every layer and head
decoder_mask           [T, T]          "; all True if the run left the decoder mask out
cross_mask             [T, S]          "
log_probs              [T]             of each predicted piece, nats
entropy                [T]             of each distribution over the whole vocabulary, nats
candidate_ids          [T, C]          the likeliest next pieces, best first
candidate_log_probs    [T, C]          their log-probabilities, nats
=====================  ==============  =====================================================================

With details, for each kind (`encoder`, `decoder`, `cross`):

=====================  ==============  =====================================================================
KIND_scores            [L, H, T, S]    queries times keys over sqrt(K), before the mask
KIND_queries           [L, H, T, K]
KIND_keys              [L, H, S, K]
KIND_values            [L, H, S, K]
KIND_outputs           [L, H, T, K]    each head's weighted sum of values, before the output projection
encoder_residual       [2L + 1, S, D]  the residual stream: embeddings, then after every sub-layer
decoder_residual       [3L + 1, T, D]  "
=====================  ==============  =====================================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np

from transformer.options import RunOptions
from transformer.tokenizer import Piece

Kind = Literal["encoder", "decoder", "cross"]
Stack = Literal["encoder", "decoder"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
PIECES = ("source_pieces", "target_pieces", "predicted_pieces")
TEXTS = ("source_text", "target_text", "complete")


@dataclass(frozen=True, eq=False)
class Trace:
    """One sentence, its translation, and all attention between them; the module's table has the arrays.

    Attributes:
        source_text: as it was typed.
        target_text: the translation, or the one that was given.
        source_pieces: S pieces that the encoder reads; the end symbol is the last.
        target_pieces: T pieces that the decoder reads, the start symbol first: its rows and keys.
        predicted_pieces: T pieces; each decoder row reads target_pieces[t] and predicts predicted_pieces[t].
        complete: False if the limit on length ended the translation before the end symbol.
        details: arrays by name, float32; empty unless they were asked for.
        options: parts of the model that this run left out.
    """

    source_text: str
    target_text: str
    source_pieces: tuple[Piece, ...]
    target_pieces: tuple[Piece, ...]
    predicted_pieces: tuple[Piece, ...]
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
    options: RunOptions

    def __post_init__(self) -> None:
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))
        for array in self._arrays().values():
            array.setflags(write=False)

    def attention(self, kind: Kind) -> np.ndarray:
        """Weights [L, H, rows, columns] of a kind."""
        return {"encoder": self.encoder, "decoder": self.decoder, "cross": self.cross}[kind]

    def mask(self, kind: Kind) -> np.ndarray:
        """Mask [rows, columns] of a kind; True = may look."""
        return {"encoder": self.encoder_mask, "decoder": self.decoder_mask, "cross": self.cross_mask}[kind]

    def queries(self, kind: Kind) -> tuple[Piece, ...]:
        """The pieces that look: the rows."""
        return self.source_pieces if kind == "encoder" else self.target_pieces

    def keys(self, kind: Kind) -> tuple[Piece, ...]:
        """The pieces looked at: the columns."""
        return self.target_pieces if kind == "decoder" else self.source_pieces

    def equals(self, other: Trace) -> bool:
        """Whether every text, piece and number is the same."""
        mine, theirs = self._arrays(), other._arrays()
        return (
            self._words() == other._words()
            and mine.keys() == theirs.keys()
            and all(np.array_equal(array, theirs[name]) for name, array in mine.items())
        )

    def to_npz(self, path: Path) -> None:
        """Write a compressed .npz archive of all arrays.

        `source_pieces`, `target_pieces` and `predicted_pieces` are arrays of strings beside them; `words` is a JSON
        document, as bytes, with the texts, the run's options and everything known of the pieces.
        """
        words = np.frombuffer(json.dumps(self._words()).encode("ascii"), dtype=np.uint8)
        pieces = {name: np.array([piece.text for piece in getattr(self, name)]) for name in PIECES}
        # Opened here, because numpy appends .npz to names that end otherwise.
        with Path(path).open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, words=words, **pieces, **self._arrays())

    @classmethod
    def from_npz(cls, path: Path) -> Trace:
        """Read what `to_npz` wrote."""
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name not in PIECES and name != "words"}
            return cls._of(json.loads(file["words"].tobytes()), arrays)

    def to_json(self) -> str:
        """All of it as one JSON object; arrays are nested lists, with every digit."""
        arrays = {
            name: {"dtype": str(array.dtype), "shape": array.shape, "values": array.ravel().tolist()}
            for name, array in self._arrays().items()
        }
        return json.dumps({**self._words(), "arrays": arrays}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Read what `to_json` wrote."""
        words = json.loads(text)
        arrays = {
            name: np.array(array["values"], dtype=array["dtype"]).reshape(array["shape"])
            for name, array in words.pop("arrays").items()
        }
        return cls._of(words, arrays)

    def _arrays(self) -> dict[str, np.ndarray]:
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in own.items() if isinstance(value, np.ndarray)} | dict(self.details)

    def _words(self) -> dict[str, object]:
        """Everything but the arrays, as JSON knows it."""
        words: dict[str, object] = {name: getattr(self, name) for name in TEXTS} | {"options": asdict(self.options)}
        for name in PIECES:
            words[name] = [
                {**asdict(piece), "span": None if piece.span is None else list(piece.span)}
                for piece in getattr(self, name)
            ]
        return words

    @classmethod
    def _of(cls, words: dict, arrays: dict[str, np.ndarray]) -> Trace:
        pieces = {
            name: tuple(
                Piece(**{**piece, "span": None if piece["span"] is None else tuple(piece["span"])})
                for piece in words[name]
            )
            for name in PIECES
        }
        own = {field.name for field in fields(cls)}
        return cls(
            **{name: words[name] for name in TEXTS},
            **pieces,
            **{name: array for name, array in arrays.items() if name in own},
            details={name: array for name, array in arrays.items() if name not in own},
            options=RunOptions(**words["options"]),
        )
