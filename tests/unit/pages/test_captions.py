from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from pages.ui.text.captions import how_to_read, sharpest, what_to_look_for
from transformer.analysis.heads.metrics import HeadMetrics, head_metrics
from transformer.analysis.view import view_of
from transformer.text.languages import LANGUAGES
from transformer.values.trace import KINDS


def test_the_known_heads_are_described(copying_translator):
    trace = copying_translator.trace("The dog and the cat")
    assert "mostly looks at the piece before: 100%" in what_to_look_for(view_of(trace, "decoder"), 0, 0)
    assert "mostly looks at the next piece: 100%" in what_to_look_for(view_of(trace, "encoder"), 0, 0)
    cross = what_to_look_for(view_of(trace, "cross"), 0, 0)
    assert re.search(r"the step that reads \*\*.+\*\* \(position \d+\) and predicts", cross)
    assert "No one place gets most" in cross and "with 1.00" in cross


def test_a_head_that_looks_at_one_word_from_everywhere_is_described(copying_translator):
    """As a head that is named after punctuation does."""
    trace = copying_translator.trace("The dog and the cat")
    view = view_of(trace, "cross")
    weights = np.zeros_like(view.weights)
    weights[..., 1] = 1.0
    described = what_to_look_for(replace(view, weights=weights), 0, 0)
    assert "mostly looks at **he** (position 2): 100% of its attention on average." in described


@pytest.mark.parametrize("kind", KINDS)
def test_the_strongest_link_is_in_the_numbers(small_translator, kind):
    view = view_of(small_translator.trace("The old man reads a book."), kind)
    weight = float(re.search(r"with (\d\.\d\d)\.", what_to_look_for(view, 1, 1)).group(1))
    assert np.isclose(view.weights[1, 1], weight, atol=0.00501).any()


def test_what_was_done_to_the_numbers_is_said(small_translator):
    trace = small_translator.trace("The old man reads a book.")
    assert "hidden" not in how_to_read(view_of(trace, "encoder"), LANGUAGES)
    reported = how_to_read(view_of(trace, "encoder", words=True, special=False), LANGUAGES)
    assert "attention to it is their sum" in reported and "scaled up to 1" in reported
    assert "hatched" in how_to_read(view_of(trace, "decoder"), LANGUAGES)


def test_the_readers_text_is_no_markup(small_translator):
    view = view_of(small_translator.trace("**x** <b>y</b>"), "encoder", words=True)
    for layer in range(view.layers):
        for head in range(view.heads):
            assert "<b>" not in what_to_look_for(view, layer, head)


@pytest.mark.parametrize("kind", KINDS)
def test_the_most_certain_head_is_named(small_translator, kind):
    trace = small_translator.trace("The old man reads a book.")
    reported = "".join(map(str, sharpest(head_metrics(trace, kind, small_translator.tokenizer.scores))))
    confidence = head_metrics(trace, kind, small_translator.tokenizer.scores).values["confidence"]
    layer, head = map(int, re.search(r"layer (\d), head (\d)", reported).groups())
    assert confidence[layer - 1, head - 1] == confidence.max() and f"{confidence.max():.0%}" in reported


def test_without_a_piece_to_look_at_no_head_is_certain():
    nothing = HeadMetrics("decoder", {"confidence": np.full((2, 3), np.nan)}, {"confidence": 0})
    assert sharpest(nothing) == []
