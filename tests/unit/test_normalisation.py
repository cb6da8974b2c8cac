from __future__ import annotations

import random
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
def test_spelling(typed, read):
    assert normalise(typed) == read


def test_spans_say_where_each_character_comes_from():
    typed = "  o\u0308, ﬁ…  x"
    read, spans = normalise_with_spans(typed)
    assert read == "ö, fi... x"
    origins = [typed[start:end] for start, end in spans]
    assert origins == ["o\u0308", ",", " ", "ﬁ", "ﬁ", "…", "…", "…", " ", "x"]


@pytest.mark.parametrize("typed", [
    "가ㄺ", "가ﾡ", "ᄀㅏ", "か\uff9e", "e\u00ad\u0301", "e\x01\u0301", "\u1deb\u00ad\u17d2", "\ufe70\uff9f",
    "ᄀ\u200bﾡ",
], ids=ascii)
def test_what_was_read_is_read_as_itself(typed):
    """What the pieces of a text spell is cut into the same pieces again."""
    assert normalise(normalise(typed)) == normalise(typed)
    assert unicodedata.is_normalized("NFKC", normalise(typed))


def random_text(rng):
    ranges = ((0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x590, 0x700), (0x1100, 0x1200), (0x2000, 0x2100),
              (0x3040, 0x3100),
              (0xAC00, 0xAD00), (0xD800, 0xD810), (0xFB00, 0xFB10), (0xFF00, 0xFFF0), (0x1F300, 0x1F700))
    return "".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(rng.randrange(1, 40)))


@pytest.mark.parametrize("seed", range(200))
def test_properties_on_random_text(seed):
    typed = random_text(random.Random(seed))
    read, spans = normalise_with_spans(typed)
    assert len(read) == len(spans)
    assert all(0 <= start < end <= len(typed) for start, end in spans)
    assert all(a[0] <= b[0] for a, b in zip(spans, spans[1:], strict=False)), "spans run from left to right"
    assert normalise(typed) == normalise(read) == read
    assert read == read.strip() and "  " not in read
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in read)
    read.encode("utf-8")
