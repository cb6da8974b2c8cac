"""Pure functions that convert a gradient into a matrix with row and column labels."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attention_atlas.browser.labels import row_labels
from attention_atlas.browser.token_labels import entry_label
from pages.ui.charts.tables import numbered_labels
from pages.ui.text.shapes import letter_titles, token_labels
from transformer.analysis.view import axes_of
from transformer.backpropagation.stage import GradientStage
from transformer.backpropagation.sums import Terms
from transformer.text.languages import Languages
from transformer.text.vocabulary import Vocabulary
from transformer.values.trace import Trace

# The table of a sum lists up to MAX_TERMS terms. For a longer sum, the table lists the first LARGEST terms in order of
# decreasing magnitude, and combines the rest in one row.
MAX_TERMS = 300
LARGEST = 24


@dataclass(frozen=True, eq=False)
class GradientMatrix:
    """A gradient with row and column labels.

    Attributes:
        values: the gradient: [R, C].
        rows, columns: the labels; None if rows or columns are numbered from 0.
        titles: the axis titles of the rows and the columns.
        chosen: for each column, its index in the full gradient, which may have more columns: int [C].
    """

    values: np.ndarray
    rows: list[str] | None
    columns: list[str] | None
    titles: tuple[str, str]
    chosen: np.ndarray

    def visible_values(self, masked: np.ndarray | None) -> np.ndarray:
        """Return the values, with -inf where `masked` is True. If `masked` is None, return all values unchanged."""
        return self.values if masked is None else np.where(masked, -np.inf, self.values)

    def place(self, row: int, column: int) -> tuple[int, int]:
        """Convert a 1-based row and column from the URL to 0-based indices.

        Row 0 means the row of the entry with the largest magnitude; column 0 means the column of that entry.
        """
        largest = np.unravel_index(np.abs(self.values).argmax(), self.values.shape)
        at = [
            int(best) if not number else min(number, size) - 1
            for best, number, size in zip(largest, (row, column), self.values.shape, strict=True)
        ]
        return at[0], at[1]


def gradient_matrix(stage: GradientStage, trace: Trace, tokenizer: Vocabulary, languages: Languages) -> GradientMatrix:
    """Return a stage's gradient as a labelled matrix.

    If the columns are the vocabulary, keep only the correct tokens and each row's token with the largest gradient.
    """
    letters = stage.letters.removeprefix("B, ").split(", ")
    titles = letter_titles(languages) | {"N": "token in either sentence", "1": ""}
    values, column_numbers = stage.matrix, np.arange(stage.matrix.shape[1])
    rows, columns = (_labels(letter, stage, trace, tokenizer, row=not index) for index, letter in enumerate(letters))
    if letters[1] == "V":
        right = [token.id for token in trace.predicted_tokens]
        column_numbers = np.array(list(dict.fromkeys([*right, *map(int, values.argmax(axis=-1))])))
        values, columns = values[:, column_numbers], [entry_label(tokenizer, int(token)) for token in column_numbers]
    return GradientMatrix(values, rows, columns, (titles[letters[0]], titles[letters[1]]), column_numbers)


def _labels(letter: str, stage: GradientStage, trace: Trace, tokenizer: Vocabulary, *, row: bool) -> list[str] | None:
    if letter == "N":
        return [entry_label(tokenizer, token) for token in stage.tokens]
    if letter == "1":
        return ["all positions"]
    if letter not in "ST":
        return None
    # As on every page, label a decoder row with the token read and the token predicted.
    return row_labels(axes_of(trace, "decoder")) if row and letter == "T" else token_labels(trace, letter)


def terms_table(terms: Terms, trace: Trace, tokenizer: Vocabulary, languages: Languages) -> pd.DataFrame:
    """Return a table with one row per term of a sum: the factors, their product and the running total."""
    letter = terms.over if isinstance(terms.over, str) else ""
    count = len(terms.products)
    order = np.arange(count)
    if count > MAX_TERMS:
        order = np.abs(terms.products).argsort()[::-1][:LARGEST]
    if letter in ("S", "T"):
        names = numbered_labels(token_labels(trace, letter))
    elif letter == "V":
        names = {int(token): entry_label(tokenizer, int(token)) for token in order}
    else:
        names = list(map(str, range(count))) if letter else list(terms.over)
    columns: dict[str, list] = {letter_titles(languages).get(letter, "term"): [names[int(each)] for each in order]}
    several = len(terms.factors) > 1 or terms.scale != 1
    if several:
        columns |= {name: list(factor[order]) for name, factor in terms.factors.items()}
    if terms.scale != 1:
        columns["1 ÷ √K"] = [terms.scale] * len(order)
    products = list(terms.products[order])
    if len(order) < count:
        # The last row contains the total of the terms that are not listed.
        for column in columns.values():
            column.append(np.nan)
        next(iter(columns.values()))[-1] = f"the other {count - len(order):,}"
        products.append(terms.total - sum(products))
    columns["product" if several else "value"] = products
    columns["sum so far"] = list(np.cumsum(products))
    return pd.DataFrame(columns)
