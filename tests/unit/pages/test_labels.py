from __future__ import annotations

import pytest

from pages.ui.labels import column_labels, row_labels, titles
from transformer.analysis.view import axes_of


@pytest.fixture(scope="module")
def trace(small_translator):
    return small_translator.read("The dog and the dog.", "Der Hund und der Hund.")


def test_a_decoder_row_names_what_it_reads_and_what_it_predicts(trace):
    axes = axes_of(trace, "decoder", words=True)
    assert row_labels(axes)[0].startswith("in: <s> start → out: ␣")
    assert row_labels(axes)[2].startswith("in: Hund → out: ")
    assert column_labels(axes)[:3] == ["<s> start", "Der", "Hund"]


def test_an_encoder_row_names_its_piece(trace):
    axes = axes_of(trace, "encoder", words=True)
    assert row_labels(axes) == column_labels(axes) == ["The", "dog", "and", "the", "dog.", "</s> end"]


def test_titles_say_which_way_attention_goes():
    assert titles(words=False) == ("from: the piece that looks", "to: the piece looked at")
    assert titles(words=True) == ("from: the word that looks", "to: the word looked at")
