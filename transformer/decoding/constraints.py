"""What a reader forbids or demands of a search, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from torch import Tensor

from transformer.tokenizer import END, PAD, START

# Symbols of the batch and of the decoder's input. No training example has them as the next piece, so what
# probability a model gives them means nothing, and padding taken for a piece would look like the end of a sentence.
NEVER_PREDICTED = frozenset({PAD, START})


@dataclass(frozen=True)
class Constraints:
    """Pieces that must or must not be taken; the same for every sentence and hypothesis of a search.

    Steps count from 0. A step that is forced takes its piece even if that is banned, and no sentence ends before the
    last forced step, but for a forced end symbol. What the model says of a piece, and so its log-probability and a
    hypothesis' score, stays what it is without constraints.

    Attributes:
        forced: the piece to take, by step.
        banned: pieces not to take, by step.
        never: pieces not to take at any step.
    """

    forced: Mapping[int, int] = field(default_factory=dict)
    banned: Mapping[int, Set[int]] = field(default_factory=dict)
    never: Set[int] = frozenset()

    @classmethod
    def prefix(cls, pieces: Sequence[int]) -> Constraints:
        """Begin with these pieces."""
        return cls(forced=dict(enumerate(pieces)))

    def check(self, vocabulary: int, limit: int) -> None:
        """See that a search over this many pieces can follow the constraints for `limit` steps.

        Raises:
            ValueError: a piece is not in the vocabulary, or a step has no piece left to take.
        """
        for piece in {*self.forced.values(), *self.never}.union(*self.banned.values()):
            if not 0 <= piece < vocabulary:
                raise ValueError(f"piece {piece} is not in the vocabulary, which has 0 to {vocabulary - 1}")
        for step in range(limit):
            if step not in self.forced and len(self._excluded(step)) == vocabulary:
                raise ValueError(f"every piece of the vocabulary is banned at step {step}")

    def apply(self, log_probs: Tensor, step: int) -> Tensor:
        """What is left to choose from.

        Args:
            log_probs: [N, V].
            step: from 0.

        Returns:
            Logits [N, V]: the same numbers, and minus infinity for what must not be taken.
        """
        if step in self.forced:
            only = log_probs.new_full(log_probs.shape, float("-inf"))
            only[:, self.forced[step]] = log_probs[:, self.forced[step]]
            return only
        left = log_probs.clone()
        left[:, sorted(self._excluded(step))] = float("-inf")
        return left

    def _excluded(self, step: int) -> Set[int]:
        too_early = {END} if step < max(self.forced, default=0) else frozenset()
        return NEVER_PREDICTED | self.never | self.banned.get(step, frozenset()) | too_early


UNCONSTRAINED = Constraints()
