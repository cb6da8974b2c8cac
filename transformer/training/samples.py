"""Translates sample sentences for a model card, and checks the translations for expected names and numbers."""

from dataclasses import dataclass
from pathlib import Path

from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.model.devices import chosen_device
from transformer.text.normalisation import normalise
from transformer.training.data import read_lines
from transformer.training.evaluate import translate_all

# Separates alternative spellings in a sample file.
ALTERNATIVE = " / "


@dataclass(frozen=True)
class Sample:
    """A sample sentence with the model's translation.

    Attributes:
        source: sentence to translate.
        translation: the model's translation.
        expected: accepted spellings of a name, a number or a time; the translation must contain one of them. Empty if
            nothing is expected.
    """

    source: str
    translation: str
    expected: tuple[str, ...] = ()

    @property
    def survives(self) -> bool:
        """Whether the translation contains one of the expected spellings."""
        return bool(self._found())

    def __str__(self) -> str:
        line = f"- {self.source} → *{self.translation}*"
        if not self.expected:
            return line
        return f"{line} ✓ {self._found()}" if self.survives else f"{line} ✗ {ALTERNATIVE.join(self.expected)}"

    def _found(self) -> str:
        return next((spelling for spelling in self.expected if spelling in self.translation), "")


def read_samples(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Read sample sentences, one per line, optionally followed by a tab and the accepted spellings of a name or number.

    Raises:
        ValueError: there are no sentences, or the file cannot be read (see `read_lines`).
    """
    rows = [line.split("\t") for _, line in read_lines(path) if line.strip()]
    if not rows:
        raise ValueError(f"{path} contains no sentences: write one per line")
    return [(normalise(row[0]), tuple(row[1].split(ALTERNATIVE)) if len(row) > 1 else ()) for row in rows]


def translate_samples(folder: Path, sentences: Path, *, device: str | None = None, beam: int = 1) -> list[Sample]:
    """Translate the sample sentences in a file.

    Args:
        folder: model folder.
        sentences: file in the format of `read_samples`.
        device: device to use; None means the fastest available.
        beam: beam size; 1 means greedy decoding.
    """
    checkpoint = load_checkpoint(folder)
    device = chosen_device(device)
    rows = read_samples(sentences)
    translations = translate_all(
        checkpoint.model_on(device), checkpoint.tokenizer, [source for source, _ in rows], device, beam=beam
    )
    return [Sample(source, text, expected) for (source, expected), text in zip(rows, translations, strict=True)]
