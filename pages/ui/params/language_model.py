"""What the page Language model reads and shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from pages.ui.params.attention import AttentionParams
from pages.ui.params.decoding import DecodingParams
from pages.ui.params.fields import Params, integer, matching, one_of, typed_text
from transformer.checkpoints.available_models import NAME, SHIPPED_LANGUAGE_MODEL

PARTS = (CONTINUE, STEPS, LIKELY, HEADS) = ("continue", "steps", "likely", "heads")
BEGINNING = "The old man went to the"
# The same words in another order.
FIRST, SECOND = "The cat sits on the mat.", "The mat sits on the cat."


@dataclass(frozen=True)
class LanguageModelParams(Params, prefix="lm_"):
    """What the page reads.

    Attributes:
        model: name of its folder, which need not be one of `transformer.checkpoints.available_models.language_model_folders`.
        part: of the page, one of PARTS.
        text: the beginning that the model goes on from; it may be empty.
        length: pieces that it writes at most.
        first, second: two texts whose probabilities are compared; the second may be empty.
    """

    model: str = matching(NAME.pattern, SHIPPED_LANGUAGE_MODEL)
    part: str = one_of(PARTS)
    text: str = typed_text(BEGINNING)
    length: int = integer(20, 1, 60)
    first: str = typed_text(FIRST)
    second: str = typed_text(SECOND)


@dataclass(frozen=True)
class ContinuationParams(DecodingParams, prefix="lm_"):
    """How the model goes on, and which step of it is looked at: as of a translation, but of another vocabulary."""

    def for_another_sentence(self) -> Self:
        """What the translator reads is nothing to it."""
        return self

    def for_another_beginning(self) -> Self:
        """The same without what belongs to the beginning."""
        return replace(self, step=0, forced=(), suppressed=(), node=0)


@dataclass(frozen=True)
class TextHeadParams(AttentionParams, prefix="lm_"):
    """Which head of the language model is shown, how, and which pieces are pinned in it."""

    def for_another_sentence(self) -> Self:
        """What the translator reads is nothing to it."""
        return self

    def for_another_translation(self) -> Self:
        return self
