"""One stage of the way as it is shown: a matrix with labels, whatever the array was. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pages.ui.heatmap import SHARE, SIGNED
from pages.ui.labels import row_labels
from pages.ui.numbers import numbered
from pages.ui.plain import piece_label
from transformer.analysis.stages import Stage
from transformer.analysis.view import axes_of
from transformer.config import TransformerConfig
from transformer.tokenizer import Tokenizer
from transformer.trace import Trace

TITLES = {
    "S": "English piece", "T": "German piece", "D": "dimension of the stream", "K": "dimension of the head",
    "F": "hidden dimension", "V": "piece of the vocabulary",
}


@dataclass(frozen=True, eq=False)
class Sheet:
    """A matrix to be drawn.

    Attributes:
        values: [R, C].
        rows, columns: labels; None numbers them from 0.
        titles: of the rows and of the columns.
        colours: SIGNED, or SHARE for what is between 0 and 1.
        note: what was left out; empty if nothing was.
    """

    values: np.ndarray
    rows: list[str] | None
    columns: list[str] | None
    titles: tuple[str, str]
    colours: str
    note: str


def sizes(config: TransformerConfig, trace: Trace) -> Mapping[str, int]:
    """What every letter of a shape stands for."""
    return {
        "B": 1, "S": len(trace.source_pieces), "T": len(trace.target_pieces), "D": config.d_model, "K": config.d_head,
        "F": config.d_ff, "V": config.target_vocabulary,
    }


def shape(stage: Stage, config: TransformerConfig, trace: Trace) -> str:
    """The shape in letters and in numbers."""
    numbers = sizes(config, trace)
    return f"[{stage.letters}] = [{', '.join(str(numbers[letter]) for letter in stage.letters.split(', '))}]"


def piece_labels(trace: Trace, letter: str) -> list[str]:
    """Labels of the pieces that a letter of a shape counts."""
    if letter == "S":
        return [piece_label(piece, trace.source_text) for piece in trace.source_pieces]
    return [piece_label(piece, trace.target_text) for piece in trace.target_pieces]


def sheet(stage: Stage, trace: Trace, tokenizer: Tokenizer) -> Sheet:
    """The matrix of a stage with numbers for its pieces or its vocabulary."""
    letters = stage.letters.removeprefix("B, ").split(", ")
    values = stage.array[0] if stage.letters.startswith("B") else stage.array
    titles = tuple(TITLES[letter] for letter in letters)
    # Of two letters for pieces the first are those that look: rows of the decoder are named as everywhere.
    rows = row_labels(axes_of(trace, "decoder")) if letters[0] == "T" else piece_labels(trace, letters[0])
    if letters[1] == "V":
        shown = list(dict.fromkeys(int(number) for number in values.argmax(axis=-1)))
        labels = [piece_label(piece, "") for piece in tokenizer.pieces(shown)]
        note = f"Of {values.shape[1]:,} columns, the {len(shown)} that are the likeliest somewhere."
        colours = SHARE if stage.key.endswith("probabilities") else SIGNED
        return Sheet(values[:, shown], rows, labels, titles, colours, note)
    columns = piece_labels(trace, letters[1]) if letters[1] in "ST" else None
    colours = SHARE if stage.key.endswith(".weights") else SIGNED
    return Sheet(values, rows, columns, titles, colours, "")


def pieces_table(stage: Stage, trace: Trace, tokenizer: Tokenizer) -> pd.DataFrame:
    """The table of a stage that has only ids, [B, N]: each position's piece, and its number in the vocabulary."""
    letter = stage.letters.removeprefix("B, ")
    ids = [int(number) for number in stage.array[0]]
    table = {"position": numbered(piece_labels(trace, letter)), "id in the vocabulary": ids}
    if stage.key == "generator.words":
        table = {
            "position": numbered(row_labels(axes_of(trace, "decoder"))), "id in the vocabulary": ids,
            "likeliest next piece": [piece_label(piece, "") for piece in tokenizer.pieces(ids)],
        }
    return pd.DataFrame(table)
