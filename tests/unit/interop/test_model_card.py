"""What is read of the card of somebody else's folder."""

from __future__ import annotations

import pytest

from transformer.checkpoints.foreign_files import Folder
from transformer.interop.model_card import read_card


@pytest.fixture
def card_of(tmp_path):
    """card_of(text): what is read of a folder whose README.md has a text."""

    def read(text):
        (tmp_path / "README.md").write_bytes(text.encode("utf-8"))
        return read_card(Folder(tmp_path), "opus-mt-en-fr")

    return read


@pytest.mark.parametrize(("line", "licence"), [
    ("license: apache-2.0", "apache-2.0"), ("license:\t'mit' ", "mit"), ('license: "cc-by-4.0"', "cc-by-4.0"),
    ("license:", ""), ("license: " + "x" * 300, ""), ("licence: mit", ""),
])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_head_says_the_licence_and_is_left_out(card_of, line, licence, end):
    card = card_of(end.join(["---", "tags: a", line, "--- ", "# A card"]))
    assert (card.licence, card.text) == (licence, "# A card")


@pytest.mark.parametrize("text", [
    "---" + "\n" * 900_000, "---\n" + "\n---" * 200_000, "---" + " \n" * 400_000,
    "---\nlicense:" + " " * 900_000 + '"x\n---\n', "---\n" + "license:\t" * 90_000 + '"\n---\n',
], ids=["lines", "ends", "spaces", "a licence", "licences"])
def test_a_head_that_does_not_end_is_done_with(card_of, text):
    """Nearly a megabyte, for which anything that begins again at every sign would take hours."""
    assert card_of(text).licence == ""
