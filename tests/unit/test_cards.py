"""Tests that third-party model cards load nothing from the network."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import few
from transformer.checkpoints.cards import MAX_BYTES, card_sections, without_media
from transformer.checkpoints.model_texts import read_card

PARTS = st.lists(st.sampled_from(["!", "[", "]", "(http://x/y.png)", "<", "b>", "\\", "\n", "a"]), max_size=14)


@pytest.mark.parametrize(
    "card", ["!![](x)[alt](http://x/y.png)", "!<b>[alt](http://x/y.png)", "!<<b>b>[alt](http://x)"]
)
def test_removing_an_image_never_creates_another_image(card):
    assert "![" not in without_media(card)
    assert "![" not in without_media(without_media(card))


@few(300)
@given(PARTS)
def test_images_are_removed_from_a_model_card(parts):
    once = without_media("".join(parts))
    assert "![" not in once and "![" not in without_media(once)


def test_text_of_removed_images_and_tags_is_kept():
    assert without_media("# A card\n\n![pixel](http://x/y.png) <b>bold</b>") == "# A card\n\npixel bold"
    assert without_media("[![badge](http://x/y.png)](http://x)\n![one][two] ![three]") == "[badge](http://x)\none three"


def test_long_model_card_sections_are_collapsed_without_losing_text():
    long = "**Training.** " + "step " * 20 + "\n\n"
    code = "```\n**Not a section.** " + "x = 1 " * 20 + "\n```\n\n"
    card = f"# A card\n\n**Limits.** Few.\n\n{long}{code}**Licence:** CC BY.\n"
    parts = card_sections(card, 60)
    assert [title for title, _ in parts] == ["", "Training", ""]
    assert parts[0][1] == "# A card\n\n**Limits.** Few.\n\n" and parts[1][1] == long + code
    assert "".join(text for _, text in parts) == card
    assert card_sections("", 60) == []


@pytest.mark.parametrize("part", ["![", "![](", "![][", "![a](b[", "<", "![<", "!", "[", "]("])
def test_model_card_with_many_unclosed_images_and_tags_is_parsed_quickly(part):
    """A parser that scans ahead from each opening symbol would take minutes for a text of this length."""
    found = without_media(part * (200_000 // len(part)))
    assert "![" not in found and len(found) <= 300_000


def test_long_model_card_is_truncated_with_a_notice(tmp_path):
    card = tmp_path / "README.md"
    assert read_card(tmp_path) == ""
    card.write_text("é" * (MAX_BYTES // 2), encoding="utf-8")
    assert read_card(tmp_path) == "é" * (MAX_BYTES // 2)
    card.write_text("a" + "é" * MAX_BYTES, encoding="utf-8")
    found = read_card(tmp_path)
    assert found.startswith("aé") and found.endswith("é\n\n*This card is too long: only its first 200 kB are shown.*")
    assert len(found.encode()) < MAX_BYTES + 100
