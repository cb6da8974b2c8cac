import unicodedata

import pytest

from transformer.text.normalisation import normalise, normalise_with_spans


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("don’t", "don't"),
        ("“quoted” „und“ «so»", '"quoted" "und" "so"'),
        ("wait…", "wait..."),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", "Full width"),
        ("ﬁne", "fine"),
        ("u\u0308ber", "über"),
        ("a \t\r\n b", "a b"),
        ("\u00a0no\u202fbreak\u00a0", "no break"),
        ("soft\u00adhyphen\u200b", "softhyphen"),
        ("nul\x00here\x07", "nulhere"),
        ("▁mark", "_mark"),
        ("minus −1, non‑breaking", "minus -1, non-breaking"),
        ("one — two", "one – two"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("", ""),
        (" \n\t ", ""),
        ("\u1112\u1161\u11ab", "한"),
        ("👩‍👩‍👧 🇩🇪", "👩‍👩‍👧 🇩🇪"),
        ("שלום عربى 日本語", "שלום عربى 日本語"),
        (r"\frac{a}{b} $x$ **b** <b>x</b> &amp;", r"\frac{a}{b} $x$ **b** <b>x</b> &amp;"),
    ],
)
def test_typed_characters_become_their_normal_forms(typed, read):
    assert normalise(typed) == read


def test_each_normalised_character_has_a_span_in_the_typed_text():
    typed = "  o\u0308, ﬁ…  x"
    read, spans = normalise_with_spans(typed)
    assert read == "ö, fi... x"
    origins = [typed[start:end] for start, end in spans]
    assert origins == ["o\u0308", ",", " ", "ﬁ", "ﬁ", "…", "…", "…", " ", "x"]


@pytest.mark.parametrize(
    "typed",
    [
        "가ㄺ",
        "가ﾡ",
        "ᄀㅏ",
        "か\uff9e",
        "e\u00ad\u0301",
        "e\x01\u0301",
        "\u1deb\u00ad\u17d2",
        "\ufe70\uff9f",
        "ᄀ\u200bﾡ",
    ],
    ids=ascii,
)
def test_normalised_text_normalises_to_itself(typed):
    """If normalising changed normalised text again, the text of some tokens could be split into different tokens."""
    assert normalise(normalise(typed)) == normalise(typed)
    assert unicodedata.is_normalized("NFKC", normalise(typed))
