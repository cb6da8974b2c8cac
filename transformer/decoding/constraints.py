"""Decoding constraints: tokens that the output must begin with, and tokens that it must not contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from transformer.decoding.generation_rules import GenerationRules
from transformer.generation import Generation
from transformer.text.spelling import NO_PARTS, WHOLE, Spelling, State
from transformer.text.vocabulary import OWN_SYMBOLS, Symbols

Choice = TypeVar("Choice")

# Maximum number of tokens in one character, which has at most four UTF-8 bytes. If at least this many tokens may still
# be written, the next token may begin any character.
LONGEST_CHARACTER = 4


@dataclass(frozen=True)
class Constraints:
    """Required and banned tokens, for all sentences and hypotheses in a search.

    Constraints do not change the reported log-probabilities. They do not change a hypothesis's score either, except for
    imported models with `generate` settings.

    Attributes:
        prefix: ids of the tokens that the output is forced to begin with, even if suppressed. Ids after an end symbol
            have no effect.
        suppressed: ids of the tokens banned after the prefix.
        spelling: the vocabulary's `Spelling`. After the prefix, a token that encodes part of a character is allowed
            only if the character can be completed within the limit.
    """

    prefix: tuple[int, ...] = ()
    suppressed: Set[int] = frozenset()
    spelling: Spelling = NO_PARTS

    def check(self, vocabulary: int, limit: int, symbols: Symbols = OWN_SYMBOLS) -> None:
        """Check that a search can satisfy the constraints.

        Args:
            vocabulary: vocabulary size V.
            limit: maximum number of steps.
            symbols: the vocabulary's special tokens.

        Raises:
            ValueError: a token is not in the vocabulary, or every token is banned after the prefix.
        """
        for token in {*self.prefix, *self.suppressed}:
            if not 0 <= token < vocabulary:
                raise ValueError(f"token {token} is not in the vocabulary, which has ids 0 to {vocabulary - 1}")
        if len(self.prefix) < limit and len(symbols.never_predicted | self.suppressed) == vocabulary:
            raise ValueError("every token of the vocabulary is suppressed: allow at least one")

    def applied(
        self,
        vocabulary: int,
        limits: Sequence[int],
        symbols: Symbols = OWN_SYMBOLS,
        device: torch.device | None = None,
        generation: Generation | None = None,
    ) -> AppliedConstraints:
        """Check the constraints, and return their initial state for a search.

        Args:
            vocabulary: vocabulary size V.
            limits: maximum number of steps for each sentence.
            symbols: the vocabulary's special tokens.
            device: device that the search runs on.
            generation: an imported model's `generate` settings; None for other models.

        Raises: as in `check`.
        """
        self.check(vocabulary, max(limits), symbols)
        return AppliedConstraints(self, vocabulary, limits, symbols, device, generation)


class AppliedConstraints:
    """State of the constraints during one search, with a row for each live hypothesis.

    Args: as in `Constraints.applied`, which creates this object.
    """

    def __init__(
        self,
        constraints: Constraints,
        vocabulary: int,
        limits: Sequence[int],
        symbols: Symbols,
        device: torch.device | None,
        generation: Generation | None,
    ) -> None:
        self.rules = GenerationRules(generation, symbols, len(limits), len(constraints.prefix)) if generation else None
        self._prefix, self._spelling, self._device = constraints.prefix, constraints.spelling, device
        self._never = symbols.never_predicted | constraints.suppressed
        self._vocabulary = vocabulary
        self._limits, self._states = list(limits), [WHOLE] * len(limits)
        # Whether any row ends in the middle of a character, which is rare.
        self._begun = False
        self._fewest = self._spelling.fewest_tokens(constraints.suppressed)
        # Results of `_tokens`, by spelling state and number of tokens left.
        self._possible: dict[tuple[State, int], tuple[bool, Tensor]] = {}
        self._excluded = self._ids(self._never)

    def choose_(
        self,
        logits: Tensor,
        step: int,
        choose: Callable[[Tensor], Choice],
        *,
        tokens: Callable[[Choice], list[int]],
        again: Callable[[Tensor, Choice], Choice] | None = None,
    ) -> Choice:
        """Exclude disallowed tokens from the logits in place, then choose tokens.

        Args:
            logits, step: as in `exclude_`.
            choose: function that returns a choice, given the constrained logits.
            tokens: function that returns the ids in a choice.
            again: function that corrects a choice that might leave a character incomplete. It receives logits that also
                exclude all tokens that would leave a character incomplete. If None, `choose` is called again.
        """
        choice = choose(self.exclude_(logits, step))
        if not self._may_break(tokens(choice), step):
            return choice
        for row, (state, limit) in enumerate(zip(self._states, self._limits, strict=True)):
            self._exclude_broken_characters_(logits[row : row + 1], state, min(limit - step, LONGEST_CHARACTER))
        return choose(logits) if again is None else again(logits, choice)

    def exclude_(self, logits: Tensor, step: int) -> Tensor:
        """Exclude disallowed tokens from the logits in place. Tokens that would leave a character incomplete are not
        excluded here, but in `choose_`.

        Args:
            logits: logits or log-probabilities of each row, [N, V].
            step: 0-based index of the step.

        Returns:
            The tensor `logits`.
        """
        if step < len(self._prefix):
            kept = self._ids({self._prefix[step]})
            # Like Hugging Face's `generate`, give a forced token a log-probability of 0.
            return _keep_(logits, kept).index_fill_(-1, kept, 0.0) if self.rules else _keep_(logits, kept)
        if self.rules:
            self.rules.apply_(logits, step)
        return logits.index_fill_(-1, self._excluded, float("-inf"))

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """Update the state for the next step: new row i extends old row `parents[i]` by the token `tokens[i]`.

        Args:
            parents: old rows to extend, in the next step's order.
            tokens: ids of the tokens to add.
        """
        if self.rules:
            self.rules.follow(parents, tokens)
        if not self._spelling:
            return
        self._limits = [self._limits[row] for row in parents]
        if not self._begun and self._spelling.parts.isdisjoint(tokens):
            self._states = [WHOLE] * len(tokens)
        else:
            self._states = [
                self._spelling.after(self._states[row], token) for row, token in zip(parents, tokens, strict=True)
            ]
            self._begun = any(self._states)

    def _may_break(self, tokens: Iterable[int], step: int) -> bool:
        """Return whether a row might be left with an incomplete character after one of `tokens`.

        The answer is always False within a forced prefix. If it is False, `_exclude_broken_characters_` is not needed.
        """
        return (
            bool(self._spelling)
            and step >= len(self._prefix)
            and (self._begun or not self._spelling.parts.isdisjoint(tokens))
        )

    def _exclude_broken_characters_(self, logits: Tensor, state: State, left: int) -> Tensor:
        """In one row's logits [1, V], exclude tokens that would leave a character incomplete, and return the logits.

        Args:
            logits: result of `exclude_`, changed in place.
            state: state of the row.
            left: number of tokens left to write.
        """
        possible = self._possible.get((state, left))
        if possible is None:
            possible = self._possible[state, left] = self._tokens(state, left)
        only, ids = possible
        return _keep_(logits, ids) if only else logits.index_fill_(-1, ids, float("-inf"))

    def _tokens(self, state: State, left: int) -> tuple[bool, Tensor]:
        """Return (True, ids of the only allowed tokens) or (False, ids of the disallowed tokens)."""
        following = self._spelling.following(state, self._fewest, left) - self._never
        # Inside a character that can be completed, allow only tokens that continue it. Otherwise, start a character.
        if state != WHOLE and following:
            return True, self._ids(following)
        following = self._spelling.following(WHOLE, self._fewest, left)
        excluded = self._never | (self._spelling.parts - following)
        return False, self._excluded if len(excluded) == self._vocabulary else self._ids(excluded)

    def _ids(self, tokens: Set[int]) -> Tensor:
        return torch.tensor(sorted(tokens), dtype=torch.long, device=self._device)


def _keep_(logits: Tensor, ids: Tensor) -> Tensor:
    """Set logits [N, V] to minus infinity, in place, except those of the token ids [K]."""
    kept = logits[:, ids]
    logits.fill_(float("-inf"))
    return logits.index_copy_(-1, ids, kept)


UNCONSTRAINED = Constraints()
