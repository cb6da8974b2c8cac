"""What the large drawing shows of a sentence."""

from __future__ import annotations

import numpy as np

from pages.ui.charts.thumbnail import data_uri
from pages.ui.components.diagram import AttentionBox
from pages.ui.heads.kinds import PAGES
from pages.ui.reading.sentence import Reading
from transformer.analysis.heads.names import head_names
from transformer.analysis.view import view_of
from transformer.values.trace import Kind


def attention_box(reading: Reading, kind: Kind) -> AttentionBox:
    """The box of a kind of attention: its map, and which head that is."""
    choice = reading.choice(kind)
    view = view_of(reading.trace, kind, words=choice.words, special=not choice.hide)
    weights = np.where(view.mask, view.weights[choice.layer, choice.head], np.nan)
    head = f"layer {choice.layer + 1}, head {choice.head + 1}"
    name = ", ".join(head_names(reading.metrics(kind))[choice.layer][choice.head])
    return AttentionBox(
        title=PAGES[kind].title, subtitle=PAGES[kind].subtitle(reading.languages),
        head=f"{head}: {name}" if name else head,
        map=data_uri(weights), rows=weights.shape[0], columns=weights.shape[1],
    )
