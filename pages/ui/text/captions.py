"""The sentences under a figure: how to read it, and what is remarkable in it."""

from __future__ import annotations

import numpy as np

from pages.ui.text.head_link import HeadLink
from pages.ui.text.labels import output_label
from pages.ui.text.markup import bare, group_label, markdown
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.heads.pattern import Pattern, pattern
from transformer.analysis.heads.telling import telling_head
from transformer.analysis.view import View
from transformer.text.languages import Languages

HOW = {
    "encoder": "Each row is one {size} of the {source} sentence; its colours say how much it looks at every {size}.",
    "decoder": "Each row is one step: the {size} that is read, then the one predicted from it. A step may look back at "
    "what was read before, but not ahead: those cells are hatched.",
    "cross": "Each row is one step of writing the {target} sentence; its colours say how much it looks at each "
             "{size} of the {source} one.",
}
MOSTLY = 0.5


def how_to_read(view: View, languages: Languages) -> str:
    """Markdown: orientation, and what was done to the numbers."""
    size = "word" if view.axes.words else "piece"
    names = {"source": languages.source.name, "target": languages.target.name}
    sentences = [HOW[view.axes.kind].format(size=size, **names), "Every row sums to 1."]
    if view.axes.words:
        sentences.append("Where a word has several pieces, attention to it is their sum, and attention from it their "
        "mean.")
    across = languages.target if view.axes.kind == "decoder" else languages.source
    if across.right_to_left:
        sentences.append(f"{across.name} is read from right to left; the columns stand in the order of reading, the "
        "first at the left.")
    if view.hidden is not None:
        sentences.append("Start and end symbols are hidden, and the rest of each row is scaled up to 1.")
    return " ".join(sentences)


def what_to_look_for(view: View, layer: int, head: int) -> str:
    """Markdown: what this head does with this sentence, from the numbers shown."""
    found = pattern(
        view.weights[layer, head], view.mask, view.axes.rows, view.axes.columns, same_text=view.axes.kind != "cross"
    )
    sentences = [_habit(found, view)]
    link = found.strongest
    # Less is written as 0.00.
    if link is not None and link.weight >= 0.005:
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
        (found.special, f"the {'start' if view.axes.kind == 'decoder' else 'end'} symbol", ", a place to rest"),
        (found.previous, f"the {size} before", ", a positional head"),
        (found.same, f"the same {size}", ", it passes on what stands there"),
        (found.following, f"the next {size}", ", a positional head"),
    ]
    if found.column is not None:
        habits.append((found.column_share, _quoted(view, found.column, row=False), ""))
    share, place, meaning = max(habits, key=lambda habit: habit[0])
    if share >= MOSTLY:
        return f"This head mostly looks at {place}: {share:.0%} of its attention on average{meaning}."
    if found.limit > 0 and found.entropy > 0.8 * found.limit:
        return (
            f"This head spreads its attention widely: the entropy of a row is {found.entropy:.2f} nats on average, of "
            f"at most {found.limit:.2f}."
        )
    # What a head's name says of it, such as "alignment", is no place.
    return (
        f"No one place gets most of this head's attention here: the entropy of a row is {found.entropy:.2f} nats on "
        f"average, of at most {found.limit:.2f}."
    )


def _quoted(view: View, position: int, *, row: bool) -> str:
    groups, text = (view.axes.rows, view.axes.row_text) if row else (view.axes.columns, view.axes.column_text)
    label = _bold(group_label(groups[position], text, words=view.axes.words))
    if row and view.axes.predicted is not None:
        predicted = _bold(output_label(view.axes, position))
        return f"the step that reads {label} (position {position + 1}) and predicts {predicted}"
    return f"{label} (position {position + 1})"


def _bold(label: str) -> str:
    return f"**{markdown(bare(label))}**"


def sharpest(metrics: HeadMetrics) -> list[str | HeadLink]:
    """Which head of all is most certain where to look."""
    confidence = metrics.values["confidence"]
    if np.isnan(confidence).all():
        return []
    layer, head = np.unravel_index(np.nanargmax(confidence), confidence.shape)
    return [
        "The most certain head here is ", HeadLink(metrics.kind, int(layer), int(head)),
        f": on average, {confidence[layer, head]:.0%} of a row lies on one place, not counting start and end symbols.",
    ]


def telling(metrics: HeadMetrics, *, chosen: bool) -> list[str | HeadLink]:
    """Which head has the most to show, and why.

    Args:
        chosen: whether somebody chose another one to be shown.
    """
    found = telling_head(metrics)
    if np.isnan(found.confidence):
        return []
    link = HeadLink(metrics.kind, found.layer, found.head)
    reason = (
        f"the clearest “{found.name}” head for this sentence" if found.name
        else "the most certain one here that does not rest on the first piece or the end symbol"
    )
    return ["The most telling head here is ", link, f", {reason}. "] if chosen else [
        "You see ", link, f": {reason}. Choose another in the grid. "]
