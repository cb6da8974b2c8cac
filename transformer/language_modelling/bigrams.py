"""Bigram model, which predicts each token from the previous one: a baseline for a language model's perplexity."""

from collections.abc import Iterable, Sequence

import numpy as np

DISCOUNT = 0.75


class Bigrams:
    """Probabilities of a token given the previous token, estimated by counting token pairs in texts.

    The method is interpolated absolute discounting (Ney, Essen and Kneser 1994, "On Structuring Probabilistic
    Dependences in Stochastic Language Modelling", section 2). DISCOUNT is subtracted from every pair's count. The freed
    probability is distributed in proportion to single-token counts plus one.

    Args:
        texts: token ids of each text.
        size: number of tokens V in the vocabulary.
        start: id of the start symbol, which precedes each text.
    """

    def __init__(self, texts: Iterable[Sequence[int]], *, size: int, start: int) -> None:
        self.start = start
        self._single = np.ones(size)
        self._pairs: dict[tuple[int, int], int] = {}
        # For each token, the number of tokens that follow it, counted with and without repetitions.
        self._followed, self._kinds = np.zeros(size), np.zeros(size)
        for text in texts:
            for pair in zip((start, *text), text, strict=False):
                self._pairs[pair] = self._pairs.get(pair, 0) + 1
                self._single[pair[1]] += 1
                self._followed[pair[0]] += 1
        for before, _ in self._pairs:
            self._kinds[before] += 1
        self._single /= self._single.sum()

    def unigram_log_prob(self, text: Sequence[int]) -> float:
        """Return the log-probability in nats that a text would have if its tokens were independent."""
        return float(np.log(self._single[list(text)]).sum())

    def log_prob(self, text: Sequence[int]) -> float:
        """Return a text's log-probability in nats, given the start symbol."""
        return float(sum(np.log(self._probability(*pair)) for pair in zip((self.start, *text), text, strict=False)))

    def _probability(self, before: int, token: int) -> float:
        followed = self._followed[before]
        if not followed:
            return self._single[token]
        discounted = max(0.0, self._pairs.get((before, token), 0) - DISCOUNT)
        return (discounted + DISCOUNT * self._kinds[before] * self._single[token]) / followed
