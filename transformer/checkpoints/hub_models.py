"""Well-known translation models that are not installed: their languages, their size, and the command to add one."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.checkpoints.available_models import OWN
from transformer.files.memory import gigabytes, memory_of
from transformer.text.languages import Languages, language

# An OPUS-MT model has 68 to 78 million parameters, stored as float32.
NUMBERS, STORED = 77_000_000, 4
# Codes of the languages that have their own model to English, and of those that have one from English.
TO_ENGLISH = "ar bn cs da de es fi fr hi hu id it ja ko nl pl ru sv th tr uk ur vi zh"
FROM_ENGLISH = "ar cs da es fi fr he hi hu id it nl ro ru sv uk vi zh"
# Code of the model that reads 120 languages.
MANY = "mul"


@dataclass(frozen=True)
class HubModel:
    """An OPUS-MT model on the Hugging Face Hub.

    Attributes:
        source, target: codes of its languages, which are parts of the model's name.
    """

    source: str
    target: str

    def __str__(self) -> str:
        return str(self.languages)

    @property
    def languages(self) -> Languages:
        return Languages(language(self.source), language(self.target))

    @property
    def folder(self) -> str:
        """Name of the folder that `command` writes."""
        return f"{self.source}-{self.target}"

    @property
    def command(self) -> str:
        """The command that downloads the model and writes its folder."""
        return f"attention-atlas import Helsinki-NLP/opus-mt-{self.folder} --output {OWN}/{self.folder}"

    @property
    def needs(self) -> str:
        """The disk space and the memory that the model takes, as a text for the screen."""
        held, loading = memory_of(NUMBERS, STORED)
        return (
            f"about {gigabytes(NUMBERS * STORED)} on disk and {gigabytes(held)} of memory, and up to "
            f"{gigabytes(loading)} while it is loaded"
        )


def hub_models() -> dict[str, HubModel]:
    """All addable models by the names of their folders: those that read English first, then sorted by language."""
    found = [HubModel("en", code) for code in FROM_ENGLISH.split()]
    found += [HubModel(code, "en") for code in TO_ENGLISH.split()]
    found.sort(key=lambda each: (each.source != "en", str(each)))
    return {each.folder: each for each in found}


def model_for(source: str) -> HubModel:
    """The model that reads a language and writes English; the model for many languages if the language has none."""
    return hub_models().get(f"{source}-en") or HubModel(MANY, "en")
