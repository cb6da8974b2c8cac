"""Parses a sentence list that a user has pasted or loaded. The text is untrusted, so its size is limited."""

from dataclasses import dataclass

from transformer.text.normalisation import replace_surrogates

MAX_SENTENCES = 200
# Maximum length of a sentence, in characters. Sentences that fit the shipped model's limit of 128 tokens are usually
# shorter.
LONGEST = 1_000
# Maximum length of a text from the browser, in characters. A full list of typical sentences is shorter.
MAX_CHARACTERS = 200_000


@dataclass(frozen=True)
class SentenceList:
    """Distinct sentences, in order.

    Attributes:
        sentences: at most `MAX_SENTENCES` sentences.
        said: a message about errors or left-out sentences; empty if there is nothing to report.
    """

    sentences: tuple[str, ...] = ()
    said: str = ""


def sentences_in(text: str) -> SentenceList:
    """Return the first `MAX_SENTENCES` distinct lines of a text that are neither blank nor too long."""
    if len(text) > MAX_CHARACTERS:
        return SentenceList(said=f"This text is too long: paste at most {MAX_CHARACTERS:,} characters.")
    if "\0" in text:
        return SentenceList(said="This is not plain text: save it as UTF-8 text, one sentence per line.")
    lines = [line.strip() for line in replace_surrogates(text).removeprefix("\ufeff").splitlines()]
    lines_of_text = [line for line in lines if line]
    fitting = [line for line in lines_of_text if len(line) <= LONGEST]
    different = list(dict.fromkeys(fitting))
    sentences = different[:MAX_SENTENCES]
    out = {
        f"longer than {LONGEST:,} characters": len(lines_of_text) - len(fitting),
        "repeated": len(fitting) - len(different),
        f"after the first {MAX_SENTENCES}": len(different) - len(sentences),
    }
    omissions = ", ".join(f"{count:,} {why}" for why, count in out.items() if count)
    if not sentences:
        return SentenceList(said=f"No sentence was found{f' ({omissions})' if omissions else ''}: write one per line.")
    return SentenceList(tuple(sentences), f"Left out: {omissions}." if omissions else "")
