"""Translations of chosen sentences, as a model card lists them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.model.devices import chosen_device
from transformer.text.normalisation import normalise
from transformer.training.data import read_lines
from transformer.training.evaluate import translate_all

# The separator of the spellings of which one must survive.
OR = " / "


@dataclass(frozen=True)
class Sample:
    """A sentence and its translation.

    Attributes:
        source: the given sentence.
        translation: the model's translation.
        expected: spellings of a name, a number or a time of which one must be in the translation; empty if nothing is
            expected.
    """

    source: str
    translation: str
    expected: tuple[str, ...] = ()

    @property
    def survives(self) -> bool:
        """Whether one of the expected spellings is in the translation."""
        return bool(self._found())

    def __str__(self) -> str:
        line = f"- {self.source} → *{self.translation}*"
        if not self.expected:
            return line
        return f"{line} ✓ {self._found()}" if self.survives else f"{line} ✗ {OR.join(self.expected)}"

    def _found(self) -> str:
        """The expected spelling that is in the translation; empty if there is none."""
        return next((spelling for spelling in self.expected if spelling in self.translation), "")


def read_samples(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Read sentences, one per line; after a tab, the text that must survive in the translation, in several spellings.

    Raises:
        ValueError: there is no sentence, or the file cannot be read (see `read_lines`).
    """
    rows = [line.split("\t") for _, line in read_lines(path) if line.strip()]
    if not rows:
        raise ValueError(f"{path} has no sentence: write one per line")
    return [(normalise(row[0]), tuple(row[1].split(OR)) if len(row) > 1 else ()) for row in rows]


def translate_samples(folder: Path, sentences: Path, *, device: str | None = None, beam: int = 1) -> list[Sample]:
    """Translate a file of sentences.

    Args:
        folder: model folder.
        sentences: file for `read_samples`.
        device: None takes the fastest available.
        beam: beam size; 1 decodes greedily.
    """
    checkpoint = load_checkpoint(folder)
    device = chosen_device(device)
    rows = read_samples(sentences)
    translations = translate_all(
        checkpoint.model_on(device), checkpoint.tokenizer, [source for source, _ in rows], device, beam=beam
    )
    return [Sample(source, text, expected) for (source, expected), text in zip(rows, translations, strict=True)]
