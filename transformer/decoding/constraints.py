"""Pieces that a search must take or must not take."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.text.vocabulary import OWN, Symbols


@dataclass(frozen=True)
class Constraints:
    """Pieces to take or not to take; the same for every sentence and hypothesis of a search.

    The log-probability of a piece, and so the score of a hypothesis, is what the model gives it without constraints.

    Attributes:
        prefix: ids of the pieces that the translation begins with, suppressed or not; what follows an end symbol has no
            effect.
        suppressed: ids not to take at any step after the prefix.
    """

    prefix: tuple[int, ...] = ()
    suppressed: Set[int] = frozenset()

    def check(self, vocabulary: int, limit: int, symbols: Symbols = OWN) -> None:
        """See that a search can follow the constraints.

        Args:
            vocabulary: number of pieces V.
            limit: maximum number of steps.
            symbols: of the vocabulary.

        Raises:
            ValueError: a piece is not in the vocabulary, or none is left to take after the prefix.
        """
        for piece in {*self.prefix, *self.suppressed}:
            if not 0 <= piece < vocabulary:
                raise ValueError(f"piece {piece} is not in the vocabulary, which has 0 to {vocabulary - 1}")
        if len(self.prefix) < limit and len(symbols.never_predicted | self.suppressed) == vocabulary:
            raise ValueError("every piece of the vocabulary is suppressed: leave at least one to take")

    def excluded(self, symbols: Symbols = OWN, device: torch.device | None = None) -> Tensor:
        """Ids [E] of the pieces not to take after the prefix, those that no search takes among them."""
        return torch.tensor(sorted(symbols.never_predicted | self.suppressed), dtype=torch.long, device=device)

    def apply(self, log_probs: Tensor, step: int, excluded: Tensor) -> Tensor:
        """Exclude the pieces that must not be taken.

        Args:
            log_probs: [N, V].
            step: from 0.
            excluded: what `excluded` returns, made once a search.

        Returns:
            Logits [N, V]: the same numbers, and minus infinity for excluded pieces.
        """
        if step < len(self.prefix):
            logits = log_probs.new_full(log_probs.shape, float("-inf"))
            logits[:, self.prefix[step]] = log_probs[:, self.prefix[step]]
            return logits
        return log_probs.index_fill(-1, excluded, float("-inf"))


UNCONSTRAINED = Constraints()
