"""Reads the languages, licence and README from a Hugging Face model folder."""

import re
from dataclasses import dataclass

from transformer.checkpoints.cards import without_media
from transformer.checkpoints.huggingface_files import HuggingFaceFolder
from transformer.text.added_tokens import TOKENIZER
from transformer.text.languages import Languages, is_code, language

CARD = "README.md"
OPUS_NAME = re.compile(r"opus-mt-(?:tc-)?(?:big-|base-|tiny-)?([A-Za-z_]+)-([A-Za-z_]+)$")
HEAD = re.compile(r"\A---[ \t\r]*\n(.*?)\n---[ \t\r]*\n", re.DOTALL)
# README.md is untrusted, so a licence name of more than 200 characters is ignored.
LICENCE = re.compile(r"^license:(.{1,200})$", re.MULTILINE)


@dataclass(frozen=True)
class ModelCard:
    """A model's description, from the files in the model folder.

    Attributes:
        languages: source and target languages; None if unknown.
        licence: licence in the header of README.md; empty if there is none.
        text: README.md without the header. HTML and images are removed, because the text is untrusted and a page that
            shows it would fetch the images.
    """

    languages: Languages | None
    licence: str
    text: str


def read_card(folder: HuggingFaceFolder, name: str) -> ModelCard:
    """Read a model's card from README.md, tokenizer_config.json and the model's name.

    Raises:
        CheckpointError: a file cannot be read.
    """
    content = folder.read(CARD, may_be_empty=True) if folder.has(CARD) else b""
    text = content.decode("utf-8", errors="replace")
    head = HEAD.match(text)
    licence = LICENCE.search(head[1]) if head else None
    named = licence[1].strip().strip("\"'") if licence else ""
    body = text[head.end() :] if head else text
    return ModelCard(_languages(folder, name), named, without_media(body).strip())


def _languages(folder: HuggingFaceFolder, name: str) -> Languages | None:
    """Return the languages in tokenizer_config.json, or else in the model's name; None if neither states them."""
    settings = folder.json(TOKENIZER) if folder.has(TOKENIZER) else {}
    source, target = settings.get("source_lang"), settings.get("target_lang")
    if is_code(source) and is_code(target):
        return Languages(language(source), language(target))
    named = OPUS_NAME.search(name)
    return Languages(language(named[1]), language(named[2])) if named else None
