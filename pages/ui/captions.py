"""The two sentences under a figure: how to read it, and what to look for in this one."""

from __future__ import annotations

import numpy as np

from pages.ui.labels import output_label
from pages.ui.plain import VISIBLE_SPACE, group_label, markdown
from transformer.analysis.heads import HeadMetrics
from transformer.analysis.patterns import Pattern, pattern
from transformer.analysis.view import View

HOW = {
    "encoder": "Each row is one {size} of the English sentence; its colours say how much it looks at each other one.",
    "decoder": "Each row is one step: the {size} that is read, then the one predicted from it. It may look back at "
               "what was read before, never ahead: those cells are hatched.",
    "cross": "Each row is one step of writing the German sentence; its colours say how much it looks at each "
             "{size} of the English one.",
}
MOSTLY = 0.5


def how_to_read(view: View) -> str:
    """Markdown: orientation, and what was done to the numbers."""
    size = "word" if view.axes.words else "piece"
    sentences = [HOW[view.axes.kind].format(size=size), "Every row sums to 1."]
    if view.axes.words:
        sentences.append("Attention to a word is the sum over its pieces, from a word the mean over them.")
    if view.hidden is not None:
        sentences.append("Start and end symbols are hidden, and what is left of each row is scaled up to 1.")
    return " ".join(sentences)


def what_to_look_for(view: View, layer: int, head: int) -> str:
    """Markdown: what this head does with this sentence, from the numbers shown."""
    found = pattern(
        view.weights[layer, head], view.mask, view.axes.rows, view.axes.columns, same_text=view.axes.kind != "cross"
    )
    sentences = [_habit(found, view)]
    if found.strongest is not None:
        link = found.strongest
        sentences.append(
            f"Its strongest link to {'a' if view.axes.kind == 'cross' else 'another'} "
            f"{'word' if view.axes.words else 'piece'}: {_quoted(view, link.row, row=True)} looks at "
            f"{_quoted(view, link.column, row=False)} with {link.weight:.2f}."
        )
    if view.hidden is not None and view.hidden[layer, head].max() >= 0.005:
        share = view.hidden[layer, head].mean()
        sentences.append(f"On average {share:.0%} of a row lay on the symbols now hidden.")
    return " ".join(sentences)


def _habit(found: Pattern, view: View) -> str:
    size = "word" if view.axes.words else "piece"
    habits = [
        (found.special, f"the {'start' if view.axes.kind == 'decoder' else 'end'} symbol", "a place to rest"),
        (found.previous, f"the {size} before", "a positional head"),
        (found.same, f"the same {size}", "it passes its own position on"),
        (found.following, f"the next {size}", "a positional head"),
    ]
    share, place, meaning = max(habits, key=lambda habit: habit[0])
    if share >= MOSTLY:
        return f"This head mostly looks at {place}: {share:.0%} of its attention on average, {meaning}."
    if found.limit > 0 and found.entropy > 0.8 * found.limit:
        return (
            f"This head spreads its attention widely: the entropy of a row is {found.entropy:.2f} nats on average; "
            f"even attention would have {found.limit:.2f}."
        )
    return (
        f"This head has no fixed place to look at. The entropy of a row is {found.entropy:.2f} nats on average, where "
        f"even attention would have {found.limit:.2f}."
    )


def _quoted(view: View, position: int, *, row: bool) -> str:
    groups, text = (view.axes.rows, view.axes.row_text) if row else (view.axes.columns, view.axes.column_text)
    label = _bold(group_label(groups[position], text, words=view.axes.words))
    if row and view.axes.predicted is not None:
        return f"the step that reads {label} and predicts {_bold(output_label(view.axes, position))}"
    return f"{label} (position {position + 1})"


def _bold(label: str) -> str:
    return f"**{markdown(label.lstrip(VISIBLE_SPACE) or VISIBLE_SPACE)}**"


def sharpest(metrics: HeadMetrics) -> str:
    """Markdown: which head of all is most certain where to look."""
    confidence = metrics.values["confidence"]
    if np.isnan(confidence).all():
        return ""
    layer, head = np.unravel_index(np.nanargmax(confidence), confidence.shape)
    return (
        f"The most certain head here is **layer {layer + 1}, head {head + 1}**: on average "
        f"{confidence[layer, head]:.0%} of a row lies on one place, start and end symbols not counted."
    )
