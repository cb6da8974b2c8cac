"""Counts the words in a text that a vocabulary encodes as a single token."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from transformer.text.normalisation import normalise
from transformer.text.tokenizer import SPACE_MARK, Tokenizer

WORD = re.compile(r"[^\W\d_]+")
FREQUENT_WORDS = 2_000


@dataclass(frozen=True)
class Coverage:
    """Statistics on how a vocabulary splits words. A word is a sequence of letters and is tokenized separately.

    Attributes:
        words: number of words in the text, including repetitions.
        whole: number of words that are a single token, including repetitions.
        cut: split words with at least one single-letter token, each mapped to its tokens; the most frequent word is
            first. Only the FREQUENT_WORDS most frequent words are examined.
    """

    words: int
    whole: int
    cut: Mapping[str, tuple[str, ...]]

    def __str__(self) -> str:
        cut = ", ".join("|".join(tokens) for tokens in self.cut.values()) or "none"
        return (
            f"{self.words} running words, {100 * self.whole / self.words:.1f} % of them single tokens; of the "
            f"{FREQUENT_WORDS} most frequent words, these are split and have a single-letter token: {cut}"
        )


def coverage(tokenizer: Tokenizer, texts: Iterable[str]) -> Coverage:
    """Return statistics on how a tokenizer's vocabulary splits the words in the texts.

    Raises:
        ValueError: the texts contain no words.
    """
    counts = Counter(word for text in texts for word in WORD.findall(normalise(text)))
    if not counts:
        raise ValueError("the texts contain no words: pass texts that contain letters")
    tokens = {word: [tokenizer.texts[token] for token in tokenizer.encode_ids(word, end=False)] for word in counts}
    cut = {
        word: tuple(tokens[word])
        for word, _ in counts.most_common(FREQUENT_WORDS)
        if len(tokens[word]) > 1 and any(len(token.lstrip(SPACE_MARK)) == 1 for token in tokens[word])
    }
    whole_count = sum(count for word, count in counts.items() if len(tokens[word]) == 1)
    return Coverage(counts.total(), whole_count, cut)
