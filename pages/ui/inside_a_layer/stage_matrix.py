"""Converts a model stage with an array of any shape into a labelled matrix. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attention_atlas.browser.labels import row_labels
from attention_atlas.browser.token_labels import token_label
from pages.ui.charts.heatmap import SHARE, SIGNED
from pages.ui.charts.tables import numbered_labels
from pages.ui.text.shapes import letter_titles, shape_in_letters, sizes, token_labels
from transformer.analysis.view import axes_of
from transformer.backpropagation.notes import Stage
from transformer.config import TransformerConfig
from transformer.text.languages import Languages
from transformer.text.vocabulary import TextVocabulary
from transformer.values.trace import Trace


@dataclass(frozen=True, eq=False)
class StageMatrix:
    """A model stage's array as a labelled matrix.

    Attributes:
        values: [R, C].
        rows, columns: the labels; None if rows or columns are numbered from 0.
        titles: the axis titles of the rows and the columns.
        colours: SIGNED, or SHARE for values between 0 and 1.
        note: a remark about columns that were left out; empty if none were.
    """

    values: np.ndarray
    rows: list[str] | None
    columns: list[str] | None
    titles: tuple[str, str]
    colours: str
    note: str


def shape(stage: Stage, config: TransformerConfig, trace: Trace) -> str:
    """Return the shape of a stage's array in letters and in numbers."""
    return shape_in_letters(stage.letters, sizes(config, trace))


def stage_matrix(stage: Stage, trace: Trace, tokenizer: TextVocabulary, languages: Languages | None) -> StageMatrix:
    """Return a stage as a labelled matrix; of the vocabulary, keep only tokens that are most likely at some step."""
    letters = stage.letters.removeprefix("B, ").split(", ")
    values = stage.array[0] if stage.letters.startswith("B") else stage.array
    titles = letter_titles(languages)[letters[0]], letter_titles(languages)[letters[1]]
    # Row labels: if both axes are tokens, the rows are the tokens that look. Decoder rows are labelled as on every
    # page.
    rows = row_labels(axes_of(trace, "decoder")) if letters[0] == "T" else token_labels(trace, letters[0])
    if letters[1] == "V":
        top_tokens = list(dict.fromkeys(int(number) for number in values.argmax(axis=-1)))
        labels = [token_label(token, "") for token in tokenizer.tokens(top_tokens)]
        note = f"Of {values.shape[1]:,} columns, the {len(top_tokens)} that are most likely at some step."
        colours = SHARE if stage.key.endswith("probabilities") else SIGNED
        return StageMatrix(values[:, top_tokens], rows, labels, titles, colours, note)
    columns = token_labels(trace, letters[1]) if letters[1] in "ST" else None
    if stage.key.endswith(".weights"):
        # Mark weights that the mask sets to 0, so that they look different from other zeros.
        mask = trace.mask("cross" if "cross_attention" in stage.key else stage.stack)
        return StageMatrix(np.where(mask, values, -np.inf), rows, columns, titles, SHARE, "")
    return StageMatrix(values, rows, columns, titles, SIGNED, "")


def tokens_table(stage: Stage, trace: Trace, tokenizer: TextVocabulary) -> pd.DataFrame:
    """Return a table for a stage that consists of token ids, [B, N]: each position's token and vocabulary id."""
    letter = stage.letters.removeprefix("B, ")
    ids = [int(number) for number in stage.array[0]]
    table = {"position": numbered_labels(token_labels(trace, letter)), "id in the vocabulary": ids}
    if stage.key == "generator.words":
        table = {
            "position": numbered_labels(row_labels(axes_of(trace, "decoder"))),
            "id in the vocabulary": ids,
            "most likely next token": [token_label(token, "") for token in tokenizer.tokens(ids)],
        }
    return pd.DataFrame(table)
