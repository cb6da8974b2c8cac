"""The settings of Hugging Face's `generate` that a model's searches follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Generation:
    """Settings of a generation_config.json; names and defaults are those of `GenerationConfig`.

    Attributes:
        repetition_penalty: divides the positive and multiplies the negative scores of tokens that were read or written.
        no_repeat_ngram_size: no sequence of so many tokens is written twice; 0 for no limit.
        min_length: number of tokens, the start symbol included, before the end symbol may be written.
        min_new_tokens: the same without the start symbol.
        max_length: largest number of tokens, the start symbol included; None for no limit.
        max_new_tokens: the same without the start symbol; it has priority.
        suppress_tokens: ids that are never written.
        begin_suppress_tokens: ids that are not written first, or right after a forced first token.
        bad_words_ids: sequences that are never written.
        forced_eos_token_id: written when a text reaches its largest length.
        early_stopping: when a beam search ends. True: as soon as it has as many ended texts as hypotheses. False: when
            the best live one scores less now than the worst of these. "never": when it would do so at any length.
        renormalize_logits: probabilities sum to 1 after the other settings.
    """

    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    min_length: int = 0
    min_new_tokens: int = 0
    max_length: int | None = None
    max_new_tokens: int | None = None
    suppress_tokens: tuple[int, ...] = ()
    begin_suppress_tokens: tuple[int, ...] = ()
    bad_words_ids: tuple[tuple[int, ...], ...] = ()
    forced_eos_token_id: int | None = None
    early_stopping: bool | Literal["never"] = False
    renormalize_logits: bool = False

    def __post_init__(self) -> None:
        counts = (self.no_repeat_ngram_size, self.min_length, self.min_new_tokens)
        ids = [*self.suppress_tokens, *self.begin_suppress_tokens, self.forced_eos_token_id or 0]
        ids += [number for word in self.bad_words_ids for number in word]
        if not self.repetition_penalty > 0 or min(*counts, *ids) < 0:
            raise ValueError("a generate() setting is negative, or repetition_penalty is not above 0")
        if self.limit is not None and self.limit < 1 or not all(self.bad_words_ids):
            raise ValueError("max_length leaves no token to write, or a sequence of bad_words_ids is empty")

    @property
    def limit(self) -> int | None:
        """The largest number of tokens to write; None for no limit."""
        if self.max_new_tokens is not None or self.max_length is None:
            return self.max_new_tokens
        return self.max_length - 1

    @property
    def least(self) -> int:
        """The number of tokens to write before the end symbol."""
        return max(self.min_length - 1, self.min_new_tokens)

    @property
    def changes_scores(self) -> bool:
        """Whether any setting changes a token's score or rules a token out."""
        return (
            self.repetition_penalty != 1
            or self.forced_eos_token_id is not None
            or bool(
                self.no_repeat_ngram_size
                or self.least
                or self.suppress_tokens
                or self.begin_suppress_tokens
                or self.bad_words_ids
            )
        )
