"""Labels for the rows and columns of an attention map, and for buttons that stand for words."""

from collections import Counter
from collections.abc import Iterable, Sequence

from attention_atlas.browser.token_labels import group_label, label_without_space, token_label
from transformer.analysis.view import Axes
from transformer.analysis.words import is_word_border
from transformer.values.tokens import Token
from transformer.values.trace import Kind

# Display names of the attention kinds, which are also the titles of their pages.
TITLES: dict[Kind, str] = {"encoder": "Encoder attention", "decoder": "Masked attention", "cross": "Cross attention"}
SHORT_TITLES: dict[Kind, str] = {"encoder": "Encoder", "decoder": "Masked", "cross": "Cross"}
ROW_TITLE = "from: the {} that looks"
COLUMN_TITLE = "to: the {} looked at"
SECONDS_TITLE = "second of audio"
# Stands for the part of a word that another row predicts.
ELLIPSIS = "…"


def head_name(number: int, heads: int) -> str:
    """Return a head's name as layer.head, both counted from 1; "" for a negative `number`.

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
    """Return the label of what a decoder row predicts. Merged words are spelled as in the text.

    A word's row covers several decoding steps, which predict the rest of the word and the text after it. An ellipsis
    stands for the part of a word that another row predicts ("in: ihrem → out: …m Bruder").
    """
    assert axes.predicted is not None, "only the decoder predicts"
    tokens = axes.predicted[row]
    if not axes.words:
        return token_label(tokens[0], axes.row_text)
    ordinary = [token for token in tokens if not token.special]
    labels = []
    if ordinary:
        following = axes.predicted[row + 1][:1] if row + 1 < len(axes.predicted) else ()
        before = ELLIPSIS if _within_word(ordinary[0], axes.row_text) else ""
        after = ELLIPSIS if following and _within_word(following[0], axes.row_text) else ""
        labels = [before + group_label(ordinary, axes.row_text, words=True) + after]
    return " ".join([*labels, *(token_label(token, axes.row_text) for token in tokens if token.special)])


def _within_word(token: Token, text: str) -> bool:
    """Return whether a token begins with a letter or digit that continues the preceding word."""
    if token.span is None or token.special:
        return False
    start, end = token.span
    if not 0 < start < end:
        return False
    before, first = text[start - 1], text[start]
    return before.isalnum() and first.isalnum() and not is_word_border(before, first)


def column_labels(axes: Axes) -> list[str]:
    """Return the labels of the keys."""
    return [group_label(group, axes.column_text, words=axes.words) for group in axes.columns]


def titles(words: bool, rows: Sequence[Token] = (), columns: Sequence[Token] = ()) -> tuple[str, str]:
    """Return the titles of the row axis and the column axis; an axis of sound frames is in seconds."""
    size = "word" if words else "token"
    of_rows, of_columns = (SECONDS_TITLE if side and side[0].role == "frame" else size for side in (rows, columns))
    return ROW_TITLE.format(of_rows), COLUMN_TITLE.format(of_columns)


def disambiguate(labels: Iterable[str]) -> list[str]:
    """Number repeated labels: the first occurrence is unchanged, the second becomes "label (2)", and so on.

    Labels must differ, because a browser identifies a clicked button by its label, and texts on the page refer to words
    by their labels.
    """
    counts: Counter[str] = Counter()
    numbered = []
    for label in labels:
        counts[label_without_space(label)] += 1
        numbered.append(
            label if counts[label_without_space(label)] == 1 else f"{label} ({counts[label_without_space(label)]})"
        )
    return numbered


def place_of(labels: Sequence[str], at: int) -> str:
    """Return the text " (position N)" for a label that repeats on its axis; "" for a unique label."""
    return (
        f" (position {at + 1})"
        if [label_without_space(label) for label in labels].count(label_without_space(labels[at])) > 1
        else ""
    )
