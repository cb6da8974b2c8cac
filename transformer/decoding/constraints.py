"""Tokens that a search must take or must not take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.text.spelling import NO_PARTS, WHOLE, Spelling, State
from transformer.text.vocabulary import OWN, Symbols

# Tokens that a character takes at most: with so many left to write, any may begin.
LONGEST_CHARACTER = 4


@dataclass(frozen=True)
class Constraints:
    """Tokens to take or not to take; the same for every sentence and hypothesis of a search.

    The log-probability of a token, and so the score of a hypothesis, is what the model gives it without constraints.

    Attributes:
        prefix: ids of the tokens that the translation begins with, suppressed or not; what follows an end symbol has no
            effect.
        suppressed: ids not to take at any step after the prefix.
        spelling: of the vocabulary. After the prefix, its parts of characters are taken only where they become whole
            characters before the search ends.
    """

    prefix: tuple[int, ...] = ()
    suppressed: Set[int] = frozenset()
    spelling: Spelling = NO_PARTS

    def check(self, vocabulary: int, limit: int, symbols: Symbols = OWN) -> None:
        """See that a search can follow the constraints.

        Args:
            vocabulary: number of tokens V.
            limit: maximum number of steps.
            symbols: of the vocabulary.

        Raises:
            ValueError: a token is not in the vocabulary, or none is left to take after the prefix.
        """
        for piece in {*self.prefix, *self.suppressed}:
            if not 0 <= piece < vocabulary:
                raise ValueError(f"piece {piece} is not in the vocabulary, which has 0 to {vocabulary - 1}")
        if len(self.prefix) < limit and len(symbols.never_predicted | self.suppressed) == vocabulary:
            raise ValueError("every piece of the vocabulary is suppressed: leave at least one to take")

    def applied(
        self, vocabulary: int, limits: Sequence[int], symbols: Symbols = OWN, device: torch.device | None = None
    ) -> AppliedConstraints:
        """The constraints at the beginning of a search.

        Args:
            vocabulary: number of tokens V.
            limits: maximum number of steps of each sentence.
            symbols: of the vocabulary.
            device: of the search.

        Raises: those of `check`.
        """
        self.check(vocabulary, max(limits), symbols)
        return AppliedConstraints(self, vocabulary, limits, symbols, device)


class AppliedConstraints:
    """Constraints during one search, which has a row for each live hypothesis.

    Args: as of `Constraints.applied`, which makes it.
    """

    def __init__(
        self, constraints: Constraints, vocabulary: int, limits: Sequence[int], symbols: Symbols,
        device: torch.device | None,
    ) -> None:
        self._prefix, self._spelling, self._device = constraints.prefix, constraints.spelling, device
        self._never = symbols.never_predicted | constraints.suppressed
        self._vocabulary = vocabulary
        self._limits, self._states = list(limits), [WHOLE] * len(limits)
        # Whether a row has begun a character: in an ordinary text none ever does.
        self._begun = False
        self._fewest = self._spelling.fewest(constraints.suppressed)
        # By state, and how many tokens may still be written.
        self._possible: dict[tuple[State, int], tuple[bool, Tensor]] = {}
        self._excluded = self._ids(self._never)

    def exclude_(self, logits: Tensor, step: int) -> Tensor:
        """Exclude the tokens that must not be taken, in place; those that would break a character are `spell_`'s.

        Args:
            logits: of each row, or log-probabilities, [N, V].
            step: from 0.

        Returns:
            The same tensor, with minus infinity for excluded tokens.
        """
        if step < len(self._prefix):
            return _keep_(logits, self._ids({self._prefix[step]}))
        return logits.index_fill_(-1, self._excluded, float("-inf"))

    def may_break(self, pieces: Iterable[int], step: int) -> bool:
        """Whether a character may be broken if these are the tokens that the rows would take, or take from; if not,
        `spell_` changes none of their places in the order of the logits."""
        return bool(self._spelling) and step >= len(self._prefix) and (
            self._begun or not self._spelling.parts.isdisjoint(pieces)
        )

    def spell_(self, logits: Tensor, step: int) -> Tensor:
        """Exclude the tokens that would break a character, too, in place; arguments and result are those of `exclude_`,
        whose result it is given."""
        for row, (state, limit) in enumerate(zip(self._states, self._limits, strict=True)):
            self._spell_(logits[row : row + 1], state, min(limit - step, LONGEST_CHARACTER))
        return logits

    def follow(self, rows: Sequence[int], pieces: Sequence[int]) -> None:
        """Go on with some of the rows, one more token after each.

        Args:
            rows: that are continued, in the order of the next step.
            pieces: ids of the tokens that continue them.
        """
        if not self._spelling:
            return
        self._limits = [self._limits[row] for row in rows]
        if not self._begun and self._spelling.parts.isdisjoint(pieces):
            self._states = [WHOLE] * len(pieces)
        else:
            self._states = [
                self._spelling.after(self._states[row], piece) for row, piece in zip(rows, pieces, strict=True)
            ]
            self._begun = any(self._states)

    def _spell_(self, logits: Tensor, state: State, left: int) -> Tensor:
        """The same of one row, which is in a state, with as many tokens left to write."""
        possible = self._possible.get((state, left))
        if possible is None:
            possible = self._possible[state, left] = self._pieces(state, left)
        only, ids = possible
        return _keep_(logits, ids) if only else logits.index_fill_(-1, ids, float("-inf"))

    def _pieces(self, state: State, left: int) -> tuple[bool, Tensor]:
        """Ids, and whether they are the only ones to take, or those not to take."""
        following = self._spelling.following(state, self._fewest, left) - self._never
        # Where a prefix left a character that cannot be completed, the next one begins.
        if state != WHOLE and following:
            return True, self._ids(following)
        following = self._spelling.following(WHOLE, self._fewest, left)
        excluded = self._never | (self._spelling.parts - following)
        return False, self._excluded if len(excluded) == self._vocabulary else self._ids(excluded)

    def _ids(self, pieces: Set[int]) -> Tensor:
        return torch.tensor(sorted(pieces), dtype=torch.long, device=self._device)


def _keep_(logits: Tensor, ids: Tensor) -> Tensor:
    """Exclude all tokens of logits [N, V] but those with these ids [K], in place."""
    kept = logits[:, ids]
    logits.fill_(float("-inf"))
    return logits.index_copy_(-1, ids, kept)


UNCONSTRAINED = Constraints()
