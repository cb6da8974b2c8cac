from __future__ import annotations

import pytest

from pages.ui.plain import group_label, markdown, piece_label
from transformer.tokenizer import END, PAD, START, Piece


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**b** _i_", r"\*\*b\*\* \_i\_"),
        ("<b>&amp;", r"\<b\>\&amp\;"),
        ("$x$ :smile: [a](b)", r"\$x\$ \:smile\: \[a\]\(b\)"),
        ("a\n\n# b", r"a \# b"),
        ("Straße 🙂", "Straße 🙂"),
        ("http://a.b", "http\\:\u2060\\/\\/a\\.b"),
        ("WWW.a.b", "W\u2060WW\\.a\\.b"),
        ("a -> b --- c >= d", "a \\-\u2060\\> b \\-\u2060\\-\u2060\\- c \\>\u2060\\= d"),
        (":material_home: :streamlit:", "\\:\u2060material\\_home\\: \\:\u2060streamlit\\:"),
    ],
)
def test_markdown_shows_text_as_itself(text, shown):
    assert markdown(text) == shown


def test_labels_of_pieces():
    assert piece_label(Piece(9, "▁Hund", (0, 4), False), "Hund") == "␣Hund"
    assert piece_label(Piece(9, "<0xF0>", (2, 3), False), "a 🙂") == "🙂 <0xF0>"
    assert [piece_label(Piece(i, "x", None, True), "") for i in (PAD, START, END)] == [
        "<pad> padding", "<s> start", "</s> end"
    ]


def test_labels_of_words_are_the_readers_own_characters():
    word = (Piece(9, "▁do", (1, 3), False), Piece(10, "n'", (3, 5), False), Piece(11, "t", (5, 6), False))
    assert group_label(word, " don’t", words=True) == "don’t"
    assert group_label(word[:1], " don’t", words=False) == "␣do"
    assert group_label((Piece(9, "▁", (0, 0), False),), "x", words=True) == "␣"
    assert group_label((Piece(START, "<s>", None, True),), "", words=True) == "<s> start"
