"""Pure functions that convert the array of a model stage into a matrix with labels, or into a table of tokens."""

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
    """The array of a model stage as a matrix with labels.

    Attributes:
        values: the matrix, [R, C].
        rows, columns: the labels of the rows and of the columns; None if they are numbered from 0.
        titles: the axis titles of the rows and the columns.
        colours: SHARE for values between 0 and 1, else SIGNED.
        note: a sentence that says which columns are shown; empty if all are shown.
    """

    values: np.ndarray
    rows: list[str] | None
    columns: list[str] | None
    titles: tuple[str, str]
    colours: str
    note: str


def shape(stage: Stage, config: TransformerConfig, trace: Trace) -> str:
    """Return the shape of a stage's array, in letters and in numbers."""
    return shape_in_letters(stage.letters, sizes(config, trace))


def stage_matrix(stage: Stage, trace: Trace, tokenizer: TextVocabulary, languages: Languages | None) -> StageMatrix:
    """Return a stage's array as a matrix with labels.

    If the columns are the vocabulary, keep only the tokens that are most likely at some step.
    """
    letters = stage.letters.removeprefix("B, ").split(", ")
    values = stage.array[0] if stage.letters.startswith("B") else stage.array
    titles = letter_titles(languages)[letters[0]], letter_titles(languages)[letters[1]]
    # As on every page, label a decoder row with the token read and the token predicted.
    rows = row_labels(axes_of(trace, "decoder")) if letters[0] == "T" else token_labels(trace, letters[0])
    if letters[1] == "V":
        top_tokens = list(dict.fromkeys(int(number) for number in values.argmax(axis=-1)))
        labels = [token_label(token, "") for token in tokenizer.tokens(top_tokens)]
        note = (
            f"Only {len(top_tokens)} of {values.shape[1]:,} columns are shown: the tokens that are most likely "
            "at one or more steps."
        )
        colours = SHARE if stage.key.endswith("probabilities") else SIGNED
        return StageMatrix(values[:, top_tokens], rows, labels, titles, colours, note)
    columns = token_labels(trace, letters[1]) if letters[1] in "ST" else None
    if stage.key.endswith(".weights"):
        # Show masked weights differently from other weights that are 0.
        mask = trace.mask("cross" if "cross_attention" in stage.key else stage.stack)
        return StageMatrix(np.where(mask, values, -np.inf), rows, columns, titles, SHARE, "")
    return StageMatrix(values, rows, columns, titles, SIGNED, "")


def tokens_table(stage: Stage, trace: Trace, tokenizer: TextVocabulary) -> pd.DataFrame:
    """Return a table of the token and its vocabulary ID at each position, for a stage that consists of IDs: [B, N]."""
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
