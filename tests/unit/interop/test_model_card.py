import pytest

from transformer.checkpoints.huggingface_files import HuggingFaceFolder
from transformer.interop.model_card import read_card


@pytest.fixture
def card_of(tmp_path):
    """card_of(text) returns the model card read from a README.md with this text."""

    def read(text):
        (tmp_path / "README.md").write_bytes(text.encode("utf-8"))
        return read_card(HuggingFaceFolder(tmp_path), "opus-mt-en-fr")

    return read


@pytest.mark.parametrize(
    ("line", "licence"),
    [
        ("license: apache-2.0", "apache-2.0"),
        ("license:\t'mit' ", "mit"),
        ('license: "cc-by-4.0"', "cc-by-4.0"),
        ("license:", ""),
        ("license: " + "x" * 300, ""),
        ("licence: mit", ""),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_licence_is_read_from_the_front_matter_of_a_model_card(card_of, line, licence, end):
    card = card_of(end.join(["---", "tags: a", line, "--- ", "# A card"]))
    assert (card.licence, card.text) == (licence, "# A card")


@pytest.mark.parametrize(
    "text",
    [
        "---" + "\n" * 900_000,
        "---\n" + "\n---" * 200_000,
        "---" + " \n" * 400_000,
        "---\nlicense:" + " " * 900_000 + '"x\n---\n',
        "---\n" + "license:\t" * 90_000 + '"\n---\n',
    ],
    ids=["lines", "ends", "spaces", "a licence", "licences"],
)
def test_huge_front_matter_without_a_valid_licence_is_parsed_quickly(card_of, text):
    """Each text is nearly a megabyte long. A parser that restarted at every marker would take hours."""
    assert card_of(text).licence == ""
