"""Well-known translation models that are not installed: their languages, what they need, and the command to add one."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.checkpoints.available_models import OWN
from transformer.files.memory import gigabytes, memory_of
from transformer.text.languages import Languages, language

# An OPUS-MT model has 68 to 78 million numbers, stored as float32.
NUMBERS, STORED = 77_000_000, 4
# Languages that have a model of their own from and to English, by code.
TO_ENGLISH = "ar bn cs da de es fi fr hi hu id it ja ko nl pl ru sv th tr uk ur vi zh"
FROM_ENGLISH = "ar cs da es fi fr he hi hu id it nl ro ru sv uk vi zh"
# Reads 120 languages.
MANY = "mul"


@dataclass(frozen=True)
class HubModel:
    """An OPUS-MT model of the Hugging Face Hub.

    Attributes:
        source, target: codes of its languages, which are parts of its name.
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
        """The name that the command gives to its folder."""
        return f"{self.source}-{self.target}"

    @property
    def command(self) -> str:
        """Downloads the model and writes its folder."""
        return f"attention-atlas import Helsinki-NLP/opus-mt-{self.folder} --output {OWN}/{self.folder}"

    @property
    def needs(self) -> str:
        """The disk and the memory that it takes, in words."""
        held, loading = memory_of(NUMBERS, STORED)
        return (
            f"about {gigabytes(NUMBERS * STORED)} on disk and {gigabytes(held)} of memory, and up to "
            f"{gigabytes(loading)} while it is loaded"
        )


def hub_models() -> dict[str, HubModel]:
    """All of them by the names of their folders: those that read English first, in the order of the languages."""
    found = [HubModel("en", code) for code in FROM_ENGLISH.split()]
    found += [HubModel(code, "en") for code in TO_ENGLISH.split()]
    found.sort(key=lambda each: (each.source != "en", str(each)))
    return {each.folder: each for each in found}


def model_for(source: str) -> HubModel:
    """The model that reads a language and writes English; one for many languages if there is no model of its own."""
    return hub_models().get(f"{source}-en") or HubModel(MANY, "en")
