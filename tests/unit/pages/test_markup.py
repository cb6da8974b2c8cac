import pytest

from attention_atlas.browser.token_labels import (
    displayable,
    entry_label,
    group_label,
    isolate,
    label_without_space,
    token_label,
)
from pages.ui.text.markup import markdown
from transformer.text.tokenizer import END, PAD, START, UNKNOWN
from transformer.values.tokens import Token


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
        ("a ~= b", "a \\~\u2060\\= b"),
        ("a -> b --- c >= d", "a \\-\u2060\\> b \\-\u2060\\-\u2060\\- c \\>\u2060\\= d"),
        (":material_home: :streamlit:", "\\:\u2060material\\_home\\: \\:\u2060streamlit\\:"),
    ],
)
def test_markdown_shows_text_literally(text, shown):
    assert markdown(text) == shown


def test_right_to_left_text_is_wrapped_in_isolating_characters():
    assert isolate("dog, 12") == "dog, 12"
    assert [isolate(text) for text in ("شلوم 12", "in: שלום")] == ["\u2068شلوم 12\u2069", "\u2068in: שלום\u2069"]
    assert markdown("*שלום*") == "\u2068\\*שלום\\*\u2069"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Der \u202eHund.", "Der \ufffdHund."),
        ("\u202a\u202b\u202c\u202d", "\ufffd" * 4),
        ("a\u2069b\u2066c", "a\ufffdb\ufffdc"),
        ("\u2067a\u202eb\u2069\u2069", "\u2067a\ufffdb\u2069\ufffd"),
        ("\u2068\u2068a\u2069\u2069", "\u2068\u2068a\u2069\u2069"),
        ("שלום\u200f", "שלום\u200f"),
    ],
)
def test_direction_characters_in_a_label_cannot_reverse_other_text(text, shown):
    assert displayable(text) == shown and displayable(shown) == shown


def test_every_output_makes_direction_characters_visible():
    assert markdown("Der \u202eHund.") == "Der \ufffdHund\\."
    assert isolate("שלום\u2069 12") == "\u2068שלום\ufffd 12\u2069", "a text does not end what stands around it"
    assert markdown(isolate("שלום")) == "\u2068\u2068שלום\u2069\u2069", "what stands around it stays"
    assert token_label(Token(9, "\u202e", (0, 1)), "\u202e") == "\ufffd"
    assert token_label(Token(9, "<0xE2>", (0, 1)), "\u202e") == "<0xE2>"
    assert group_label((Token(9, "\u202ex", (0, 2)),), "\u202ex", words=True) == "\ufffdx"


def test_token_labels_make_spaces_bytes_and_roles_visible():
    assert token_label(Token(9, "▁Hund", (0, 4)), "Hund") == "␣Hund"
    assert token_label(Token(9, "<0xF0>", (2, 3)), "a 🙂") == "🙂 <0xF0>"
    assert token_label(Token(9, "<unk>", (2, 3), "unknown"), "a 🙂") == "🙂 <unk>"
    assert token_label(Token(9, "<0xD7>", (0, 1)), "ש") == "\u2068ש\u2069 <0xD7>", "or the byte is read backwards"
    assert token_label(Token(9, "<pad>", None, "start"), "") == "<pad> start"
    assert token_label(Token(9, "▁<0xF0><0x9F>", (1, 2)), " 🙂") == "🙂 ␣<0xF0><0x9F>"
    assert token_label(Token(9, "<0x0A><0x09>", (0, 2)), "\n\t") == "↵⇥"
    assert token_label(Token(9, "<0x0D>", (0, 1)), "\r") == "<0x0D>"


def test_word_label_shows_preceding_line_breaks():
    tokens = (Token(9, "<0x0A>", (3, 4)), Token(9, "<0x0A>", (4, 5)), Token(9, "It", (5, 7)))
    assert group_label(tokens, "sun\n\nIt", words=True) == "↵↵It"
    assert group_label(tokens[:2], "sun\n\nIt", words=True) == "↵↵"
    assert label_without_space("↵↵It") == "It"


def test_vocabulary_labels_name_special_tokens_and_make_spaces_visible(tokenizer):
    assert [entry_label(tokenizer, token) for token in (PAD, UNKNOWN, START, END)] == [
        "<pad> padding",
        "<unk>",
        "<s> start",
        "</s> end",
    ]
    assert entry_label(tokenizer, tokenizer.texts.index("▁")) == "␣"


def test_word_label_uses_the_typed_characters_of_the_text():
    word = (Token(9, "▁do", (1, 3)), Token(10, "n'", (3, 5)), Token(11, "t", (5, 6)))
    assert group_label(word, " don’t", words=True) == "don’t"
    assert group_label(word[:1], " don’t", words=False) == "␣do"
    assert group_label((Token(9, "▁", (0, 0)),), "x", words=True) == "␣"
    assert group_label((Token(START, "<s>", None, "start"),), "", words=True) == "<s> start"
