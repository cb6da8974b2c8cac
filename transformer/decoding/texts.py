"""The texts that a model can read at once, as pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from transformer.decoding.constraints import Constraints
from transformer.errors import TextError
from transformer.text.normalisation import valid
from transformer.text.vocabulary import Piece, Vocabulary

# The longest text on either side, in pieces, the end symbol not counted.
MAX_PIECES = 128
MAX_CHARACTERS = 10_000
# What to type if a text is empty.
WANTED = {"source": "Type a sentence to translate", "target": "Type the translation that the model should read"}


def text_pieces(vocabulary: Vocabulary, text: str, side: Literal["source", "target"]) -> tuple[Piece, ...]:
    """The pieces of a text, the end symbol included.

    Raises:
        TextError: the text is empty or too long.
    """
    if len(text) > MAX_CHARACTERS:
        raise TextError(
            f"The text has {len(text):,} characters, far more than fit into the {MAX_PIECES} pieces that "
            "can be read at once: shorten it to a sentence or two."
        )
    pieces = vocabulary.encode_source(text) if side == "source" else vocabulary.encode_target(text)
    if all(piece.special for piece in pieces):
        raise TextError(f"{WANTED[side]}: there is nothing to read yet.")
    if len(pieces) - 1 > MAX_PIECES:
        raise TextError(
            f"The text has {len(pieces) - 1:,} pieces, and at most {MAX_PIECES} can be read at once: "
            "shorten it to a sentence or two."
        )
    return pieces


def given_target(vocabulary: Vocabulary, target: str | Sequence[int]) -> tuple[str, tuple[Piece, ...]]:
    """A translation that was given as a text or as ids, as text and pieces.

    Raises:
        TextError: it is empty or too long.
        ValueError: the vocabulary has no such piece.
    """
    if isinstance(target, str):
        target = valid(target)
        return target, text_pieces(vocabulary, target, "target")
    ids = list(target)
    if not 0 < len(ids) <= MAX_PIECES + 1:
        raise TextError(f"A translation has 1 to {MAX_PIECES + 1} pieces, the end symbol included, not {len(ids)}.")
    Constraints(tuple(ids)).check(vocabulary.size, len(ids))
    return vocabulary.decode(ids), vocabulary.pieces(ids)


def shifted_right(vocabulary: Vocabulary, predicted: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """What the decoder reads to predict these pieces: the start symbol, then all but the last of them."""
    return (*vocabulary.pieces([vocabulary.symbols.start]), *predicted[:-1])
