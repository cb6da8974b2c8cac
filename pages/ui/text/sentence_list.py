"""A list of sentences from a text that a user pasted, or from a file; untrusted, so bounded. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.text.normalisation import valid

MAX_SENTENCES = 200
# Characters of one sentence; no model that ships reads more.
LONGEST = 1_000
# Bytes of a text that the browser sends: as many as a full list of usual sentences.
MAX_BYTES = 200_000


@dataclass(frozen=True)
class SentenceList:
    """Sentences in their order, each once.

    Attributes:
        sentences: at most `MAX_SENTENCES`.
        said: one sentence on what is wrong, or was left out; empty if nothing was.
    """

    sentences: tuple[str, ...] = ()
    said: str = ""


def sentences_in(text: str) -> SentenceList:
    """The lines of a text that are not blank; each is one sentence."""
    if len(text) > MAX_BYTES:
        return SentenceList(said=f"This text is too long: paste at most {MAX_BYTES:,} characters.")
    if "\0" in text:
        return SentenceList(said="This is no plain text: save it as UTF-8 text, one sentence per line.")
    lines = [line.strip() for line in valid(text).removeprefix("\ufeff").splitlines()]
    written = [line for line in lines if line]
    fitting = [line for line in written if len(line) <= LONGEST]
    different = list(dict.fromkeys(fitting))
    kept = different[:MAX_SENTENCES]
    out = {
        f"longer than {LONGEST:,} characters": len(written) - len(fitting),
        "repeated": len(fitting) - len(different),
        f"after the first {MAX_SENTENCES}": len(different) - len(kept),
    }
    left = ", ".join(f"{count:,} {why}" for why, count in out.items() if count)
    if not kept:
        return SentenceList(said=f"No sentence was found{f' ({left})' if left else ''}: write one per line.")
    return SentenceList(tuple(kept), f"Left out: {left}." if left else "")
