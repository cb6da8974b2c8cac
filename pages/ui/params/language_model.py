"""URL parameters of the "Language model" page."""

from dataclasses import dataclass, replace
from typing import Self

from pages.ui.params.attention import AttentionParams
from pages.ui.params.decoding import DecodingParams
from pages.ui.params.fields import Params, integer, matching, typed_text
from pages.ui.params.pages import part_of
from transformer.checkpoints.available_models import NAME, SHIPPED_LANGUAGE_MODEL

BEGINNING = "The old man went to the"
# Two texts made of the same words in different orders.
FIRST, SECOND = "The cat sits on the mat.", "The mat sits on the cat."


@dataclass(frozen=True)
class LanguageModelParams(Params, prefix="lm_"):
    """The model and the texts of the "Language model" page.

    Attributes:
        model: the name of the model's folder, which may be missing from `available_models.language_model_folders`.
        part: the open part of the page.
        text: the beginning that the model continues; may be empty.
        length: the maximum number of tokens that the model writes.
        first, second: the two texts whose probabilities are compared; the second may be empty.
    """

    model: str = matching(NAME.pattern, SHIPPED_LANGUAGE_MODEL)
    part: str = part_of("language_model")
    text: str = typed_text(BEGINNING)
    length: int = integer(20, 1, 60)
    first: str = typed_text(FIRST)
    second: str = typed_text(SECOND)


@dataclass(frozen=True)
class ContinuationParams(DecodingParams, prefix="lm_"):
    """The decoding settings for continuing a text, stored separately from those for translating."""

    # A new translation resets nothing, because the language model does not read it.
    OF_TRANSLATION = ()

    def for_another_beginning(self) -> Self:
        """Return a copy without values that make sense only for the current beginning of the text."""
        return replace(self, step=0, forced=(), suppressed=(), node=0)


@dataclass(frozen=True)
class TextHeadParams(AttentionParams, prefix="lm_"):
    """The selected head of the language model, with the display settings and pinned tokens of its attention maps."""

    # A new translation resets nothing, because the language model does not read it.
    OF_TRANSLATION = ()
