"""Marks the differences between two texts."""

import re
from difflib import SequenceMatcher

from pages.ui.text.markup import markdown

# Matches a word, a run of spaces, or a punctuation character.
WORD = re.compile(r"\w+|\s+|[^\w\s]")


def marked_words(old: str, new: str) -> tuple[str, str]:
    """Return both texts as Markdown that marks the words in which they differ."""
    words = WORD.findall(old), WORD.findall(new)
    parts: tuple[list[str], list[str]] = ([], [])
    for operation, *ends in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, (start, end) in enumerate((ends[:2], ends[2:])):
            text = "".join(words[side][start:end])
            part = markdown(text)
            if part and operation != "equal":
                part = f":orange-background[**{part}**]"
            # Keep spaces outside the coloured background.
            before, after = (" " if text[edge : edge + 1 or None].isspace() else "" for edge in (0, -1))
            parts[side].append(before + part + (after if part else ""))
    return "".join(parts[0]).strip(), "".join(parts[1]).strip()


def count_kept_words(old: str, new: str) -> tuple[int, list[str]]:
    """Return the number of words that the new text keeps from the old one, in order, and the words that it lacks."""
    words = [re.findall(r"\w+", text) for text in (old, new)]
    lost, kept = [], 0
    for operation, start, end, *_ in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        if operation == "equal":
            kept += end - start
        else:
            lost += words[0][start:end]
    return kept, lost


def merged_words(old: str, new: str) -> str:
    """Return Markdown of the new text with added words marked and the old text's removed words struck out."""
    words = WORD.findall(old), WORD.findall(new)
    parts = []
    for operation, start, end, first, last in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        gone, added = markdown("".join(words[0][start:end])), markdown("".join(words[1][first:last]))
        if operation == "equal":
            parts.append(added)
            continue
        parts += [f":gray[~~{gone}~~]"] if gone else []
        parts += [f":orange-background[**{added}**]"] if added else []
    return _close_spaces(" ".join(parts))


def _close_spaces(text: str) -> str:
    """Remove spaces before escaped punctuation in Markdown."""
    return re.sub(r" +(?=\\[,.!?;:])", "", text)
