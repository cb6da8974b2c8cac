"""Labels for the rows and columns of an attention map, and for buttons with words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from attention_atlas.browser.token_labels import bare, group_label, token_label
from transformer.analysis.view import Axes
from transformer.analysis.words import parted
from transformer.values.tokens import Token
from transformer.values.trace import Kind

# Display names of the attention kinds, which are also the titles of their pages.
TITLES: dict[Kind, str] = {"encoder": "Encoder attention", "decoder": "Masked attention", "cross": "Cross attention"}
SHORT_TITLES: dict[Kind, str] = {"encoder": "Encoder", "decoder": "Masked", "cross": "Cross"}
FROM = "from: the {} that looks"
TO = "to: the {} looked at"
SECONDS = "second of the sound"
# Stands for the part of a word that another row predicts.
CUT = "…"


def head_name(number: int, heads: int) -> str:
    """Return a head's name as layer.head, both counted from 1; empty for -1.

    Args:
        number: index of the head among all heads, as in `head_distances`.
        heads: number of heads per layer.
    """
    return "" if number < 0 else f"{number // heads + 1}.{number % heads + 1}"


def row_labels(axes: Axes) -> list[str]:
    """Return the labels of the queries. A decoder row is labelled with the token read and the token predicted."""
    labels = [group_label(group, axes.row_text, words=axes.words) for group in axes.rows]
    if axes.predicted is None:
        return labels
    return [f"in: {read} → out: {output_label(axes, row)}" for row, read in enumerate(labels)]


def output_label(axes: Axes, row: int) -> str:
    """Return the text that a decoder row predicts, spelled as in the text if tokens are merged into words.

    A word's row covers several decoding steps, which predict the rest of the word and the text after it. Dots stand for
    the letters of a word that another row predicts ("in: ihrem → out: …m Bruder").
    """
    assert axes.predicted is not None, "only the decoder predicts"
    tokens = axes.predicted[row]
    if not axes.words:
        return token_label(tokens[0], axes.row_text)
    written = [token for token in tokens if not token.special]
    labels = []
    if written:
        following = axes.predicted[row + 1][:1] if row + 1 < len(axes.predicted) else ()
        before = CUT if _within_word(written[0], axes.row_text) else ""
        after = CUT if following and _within_word(following[0], axes.row_text) else ""
        labels = [before + group_label(written, axes.row_text, words=True) + after]
    return " ".join([*labels, *(token_label(token, axes.row_text) for token in tokens if token.special)])


def _within_word(token: Token, text: str) -> bool:
    """Return whether a token begins with a letter or digit that continues the preceding word."""
    if token.span is None or token.special:
        return False
    start, end = token.span
    if not 0 < start < end:
        return False
    before, first = text[start - 1], text[start]
    return before.isalnum() and first.isalnum() and not parted(before, first)


def column_labels(axes: Axes) -> list[str]:
    """Return the labels of the keys."""
    return [group_label(group, axes.column_text, words=axes.words) for group in axes.columns]


def titles(words: bool, rows: Sequence[Token] = (), columns: Sequence[Token] = ()) -> tuple[str, str]:
    """Return the titles of the row axis and the column axis; for sound, columns are seconds."""
    size = "word" if words else "token"
    of_rows, of_columns = (SECONDS if side and side[0].role == "frame" else size for side in (rows, columns))
    return FROM.format(of_rows), TO.format(of_columns)


def disambiguated(labels: Iterable[str]) -> list[str]:
    """Return the labels; of labels that read alike in a sentence, the second and later ones get a number.

    Labels must differ: a browser identifies a clicked button by its label, and a user looks for the word that a
    sentence mentions.
    """
    seen: Counter[str] = Counter()
    found = []
    for label in labels:
        seen[bare(label)] += 1
        found.append(label if seen[bare(label)] == 1 else f"{label} ({seen[bare(label)]})")
    return found


def place_of(labels: Sequence[str], at: int) -> str:
    """Return the position to add to a label in a sentence; "" if the label is unique on its axis."""
    return f" (position {at + 1})" if [bare(each) for each in labels].count(bare(labels[at])) > 1 else ""
