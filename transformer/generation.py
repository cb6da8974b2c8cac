"""Hugging Face `generate` settings that this project's decoding supports."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Generation:
    """Settings in generation_config.json; names and defaults are those of Hugging Face's `GenerationConfig`.

    Attributes:
        repetition_penalty: factor that divides the positive scores, and multiplies the negative scores, of tokens
            already read or written.
        no_repeat_ngram_size: length of token sequences that must not occur twice; 0 allows every repetition.
        min_length: number of tokens, including the start symbol, before the end symbol is allowed.
        min_new_tokens: number of tokens, not counting the start symbol, before the end symbol is allowed.
        max_length: maximum number of tokens, including the start symbol; None for no limit.
        max_new_tokens: maximum number of tokens, not counting the start symbol; has priority over `max_length`.
        suppress_tokens: token ids that are never written.
        begin_suppress_tokens: ids that must not be the first token, or the first one after forced tokens.
        bad_words_ids: token sequences that are never written.
        forced_eos_token_id: id of the token to write when a text reaches the maximum length.
        early_stopping: when beam search ends. True: once as many hypotheses are finished as there are beams. False:
            once this is so and the best live hypothesis, scored at its present length, is no better than the worst
            finished one. "never": like False, but the live hypothesis is scored at the maximum length.
        renormalize_logits: whether probabilities are normalised to sum to 1 after the other settings are applied.
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
        if not self.repetition_penalty > 0:
            raise ValueError(f"repetition_penalty must be above 0, not {self.repetition_penalty}")
        if min(*counts, *ids) < 0:
            raise ValueError(f"token counts and token ids must be at least 0, not {min(*counts, *ids)}")
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"max_length or max_new_tokens must allow at least 1 new token, not {self.limit}")
        if not all(self.bad_words_ids):
            raise ValueError("a token sequence in bad_words_ids is empty")

    @property
    def limit(self) -> int | None:
        """Maximum number of tokens to write; None for no limit."""
        if self.max_new_tokens is not None or self.max_length is None:
            return self.max_new_tokens
        return self.max_length - 1

    @property
    def least(self) -> int:
        """Minimum number of tokens to write before the end symbol."""
        return max(self.min_length - 1, self.min_new_tokens)

    @property
    def changes_scores(self) -> bool:
        """Whether any setting changes a token's score or rules out a token."""
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
