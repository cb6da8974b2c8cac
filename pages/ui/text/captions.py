"""Writes the captions below attention maps. Each describes a head's behaviour and explains how to read its map."""

from collections.abc import Sequence

import numpy as np

from attention_atlas.browser.labels import output_label, place_of
from attention_atlas.browser.token_labels import group_label, label_without_space
from pages.ui.text.head_link import HeadLink
from pages.ui.text.markup import markdown
from transformer.analysis.heads.clearest_head import ALIGNMENT, clearest_head
from transformer.analysis.heads.expectation import (
    Expectation,
    alignment_expectation,
    alignment_heads,
    position_expectation,
)
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.heads.names import head_names
from transformer.analysis.heads.pattern import Pattern, pattern
from transformer.analysis.view import View
from transformer.text.languages import Languages
from transformer.values.trace import Trace

READING_HINTS = {
    "encoder": "Every {source} {size} can look at every other one. Each row is the {size} that looks; its colours show "
    "how much it looks at each {size}.",
    "decoder": "Each row is one step, in which the model reads one {size} and predicts the next. A step can look back "
    "at what was already read, but not ahead: the cells of later {size}s are hatched.",
    "cross": "Each time it writes a {target} {size}, the model looks at the {source} sentence. Each row is one such "
    "step; its colours show how much it looks at each {source} {size}.",
}
# If more than this share of a head's attention is on one token or one relative position, the caption says "mostly looks
# at".
MIN_MAIN_SHARE = 0.5
# "Very focused" requires a mean row maximum of at least FOCUSED, and an entropy of at most FOCUSED_ENTROPY times the
# maximum entropy.
FOCUSED, FOCUSED_ENTROPY = 0.8, 0.5
SPREAD_ENTROPY = 0.8


def describe_axes(view: View, languages: Languages) -> str:
    """Return Markdown that explains the map's axes, and how its weights were merged or rescaled."""
    names = {"source": languages.source.name, "target": languages.target.name}
    sentences = [READING_HINTS[view.axes.kind].format(size=_size(view), **names), "Every row sums to 1."]
    if view.axes.words:
        sentences.append("When a word has several tokens, attention to it is summed and attention from it is averaged.")
    across = languages.target if view.axes.kind == "decoder" else languages.source
    if across.right_to_left:
        sentences.append(
            f"{across.name} is read from right to left; the columns are in reading order, the first on the left."
        )
    if view.hidden is not None:
        sentences.append("Start and end symbols are hidden, and the rest of each row is scaled up to a sum of 1.")
    return " ".join(sentences)


def describe_head(view: View, metrics: HeadMetrics, layer: int, head: int) -> str:
    """Return Markdown that describes a head's behaviour on the sentence."""
    head_pattern = pattern(
        view.weights[layer, head], view.mask, view.axes.rows, view.axes.columns, same_text=view.axes.kind != "cross"
    )
    confidence = float(np.nan_to_num(metrics.values["confidence"][layer, head]))
    names = head_names(metrics)[layer][head]
    sentences = [
        _describe_habit(head_pattern, view, names, confidence),
        *_describe_oddities(view, metrics, layer, head),
    ]
    link = head_pattern.strongest
    # Smaller weights would be displayed as 0.00.
    if link is not None and link.weight >= 0.005:
        other = "" if view.axes.kind == "cross" else f" to another {_size(view)}"
        sentences.append(
            f"Strongest link{other}: {_row(view, link.row)} {_label(view, link.column)} ({link.weight:.2f})."
        )
    if view.hidden is not None and view.hidden[layer, head].max() >= 0.005:
        share = view.hidden[layer, head].mean()
        sentences.append(f"On average, {share:.0%} of a row's attention was on the symbols that are now hidden.")
    return " ".join(sentences)


def _describe_habit(head_pattern: Pattern, view: View, names: Sequence[str], confidence: float) -> str:
    """Return a sentence about where a head mostly looks or, if it has no main target, about how focused the head is.

    Args:
        head_pattern: the pattern in the head's weights.
        names: the head's names.
        confidence: the head's confidence, which `describe_most_focused_head` also shows.
    """
    size, total = _size(view), "the attention shown" if view.hidden is not None else "its attention"
    habits = [
        (
            "",
            head_pattern.special,
            f"the {'start' if view.axes.kind == 'decoder' else 'end'} symbol",
            ", an attention sink",
        ),
        ("previous token", head_pattern.previous, f"the {size} before", ", a positional head"),
        ("same token", head_pattern.same, f"the same {size}", f", so it passes on each {size}'s own information"),
        ("next token", head_pattern.following, f"the next {size}", ", a positional head"),
    ]
    if head_pattern.column is not None:
        habits.append(("", head_pattern.column_share, _label(view, head_pattern.column), ""))
    # In a short sentence, several patterns may apply. Prefer one that the head is named after.
    _, share, place, meaning = max(
        habits, key=lambda habit: (habit[1] > MIN_MAIN_SHARE and habit[0] in names, habit[1])
    )
    if share > MIN_MAIN_SHARE:
        return f"This head mostly looks at {place}: {share:.0%} of {total} on average{meaning}."
    entropy = f"(entropy {head_pattern.entropy:.2f} of at most {head_pattern.limit:.2f} nats)"
    if (
        head_pattern.moves
        and head_pattern.peak >= FOCUSED
        and head_pattern.entropy <= FOCUSED_ENTROPY * head_pattern.limit
    ):
        return (
            f"Very focused: on average, a row puts {head_pattern.peak:.0%} of {total} on one {size}, which differs "
            f"from row to row {entropy}."
        )
    # A word's row averages its tokens' rows, so it can look spread even if each is focused; also check `confidence`.
    if (
        max(head_pattern.peak, confidence) < MIN_MAIN_SHARE
        and head_pattern.entropy > SPREAD_ENTROPY * head_pattern.limit
    ):
        return f"This head spreads its attention widely {entropy}."
    rest = f", and {head_pattern.rest:.0%} on start and end symbols" if head_pattern.rest >= 0.005 else ""
    return f"On average, a row puts {head_pattern.peak:.0%} of {total} on a single {size}{rest} {entropy}."


def _describe_oddities(view: View, metrics: HeadMetrics, layer: int, head: int) -> list[str]:
    """Return Markdown sentences about rows in which a head does not behave as its name suggests."""
    names = head_names(metrics)[layer][head]
    if "alignment" not in names:
        for name in names:
            expected = position_expectation(view, name)
            if expected is not None:
                return _describe_outlier(view, expected, layer, head, f"the {name.replace('token', _size(view))} is")
        return []
    heads, read = alignment_heads(metrics)
    sentences = []
    if read or not heads[layer, head]:
        sentences.append(
            "It is one step late: most rows look at the word just translated, not at the word to translate next."
        )
    expected = alignment_expectation(view, metrics) if heads[layer, head] else None
    if expected is not None:
        sentences += _describe_outlier(view, expected, layer, head, "the alignment heads together look at")
    return sentences


def _describe_outlier(view: View, expected: Expectation, layer: int, head: int, instead: str) -> list[str]:
    """Return a list with a Markdown sentence on the row that most contradicts the head's name; [] if no row does."""
    outlier = expected.outlier(view.weights[layer, head])
    if outlier is None:
        return []
    which = (
        "One exception"
        if outlier.rows == 1
        else f"{outlier.rows} of {outlier.counted} rows are exceptions. The clearest one"
    )
    return [
        f"{which}: {_row(view, outlier.row, read=expected.read)} {_label(view, outlier.column)}; {instead} "
        f"{_label(view, outlier.expected)}."
    ]


def _size(view: View) -> str:
    return "word" if view.axes.words else "token"


def _row(view: View, row: int, *, read: bool = False) -> str:
    """Return the start of a Markdown sentence about a row, such as "**it** looks at".

    A decoder step is named after the token that it writes or, if `read` is true, after the token that it reads.
    """
    if view.axes.predicted is None:
        return f"{_label(view, row, row=True)} looks at"
    if read:
        return f"having read {_label(view, row, row=True)}, it looks at"
    output = output_label(view.axes, row)
    at = place_of([output_label(view.axes, each) for each in range(len(view.axes.rows))], row)
    return f"as it {'writes' if view.axes.kind == 'cross' else 'predicts'} {_bold(output)}{at}, it looks at"


def _label(view: View, position: int, *, row: bool = False) -> str:
    """Return the label of a row or column, with its position if the label is not unique."""
    groups, text = (view.axes.rows, view.axes.row_text) if row else (view.axes.columns, view.axes.column_text)
    labels = [group_label(group, text, words=view.axes.words) for group in groups]
    return f"{_bold(labels[position])}{place_of(labels, position)}"


def _bold(label: str) -> str:
    return f"**{markdown(label_without_space(label))}**"


def describe_most_focused_head(metrics: HeadMetrics) -> list[str | HeadLink]:
    """Return a sentence that names the most focused head; empty if no head's confidence is known."""
    confidence = metrics.values["confidence"]
    if np.isnan(confidence).all():
        return []
    layer, head = np.unravel_index(np.nanargmax(confidence), confidence.shape)
    return [
        "Most focused head: ",
        HeadLink(metrics.kind, int(layer), int(head)),
        f". On average, each row puts {confidence[layer, head]:.0%} of its weight on a single token (start and end "
        "symbols excluded).",
    ]


def describe_clearest_head(trace: Trace, metrics: HeadMetrics, *, is_chosen: bool) -> list[str | HeadLink]:
    """Return a sentence that names the most informative head and says why it was chosen; [] if its confidence is NaN.

    Args:
        is_chosen: whether the map shows a head that the user has chosen.
    """
    clearest = clearest_head(trace, metrics)
    if np.isnan(clearest.confidence):
        return []
    link = HeadLink(metrics.kind, clearest.layer, clearest.head)
    if clearest.name == ALIGNMENT:
        reason = "the alignment head that best matches the mean of all alignment heads for this sentence"
    elif clearest.name:
        reason = f"the clearest “{clearest.name}” head for this sentence"
    elif clearest.is_resting:
        reason = "the most focused head (every head here looks mostly at the first token or the end symbol)"
    else:
        reason = "the most focused head that does not look mostly at the first token or the end symbol"
    return (
        ["Suggested head: ", link, f", {reason}. "]
        if is_chosen
        else ["This is ", link, f", {reason}. Pick another in the grid. "]
    )
