"""URL parameters of the Translate page: the frame of the animation, and the chosen word."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.attention import MAX_INDEX, UNCHOSEN
from pages.ui.params.fields import Params, index, integer, one_of

# Upper limit for frame numbers; the animation has fewer frames.
MAX_FRAMES = 99


@dataclass(frozen=True)
class FilmParams(Params, prefix="film_"):
    """The state of the animation.

    Attributes:
        frame: the 1-based number of the frame on screen; 0 if the animation is closed.
    """

    frame: int = integer(0, 0, MAX_FRAMES)

    def at_end(self) -> FilmParams:
        """Return a copy that selects the last frame, or no frame if the animation is closed."""
        return FilmParams(MAX_FRAMES if self.frame else 0)


@dataclass(frozen=True)
class WordParams(Params, prefix="word_"):
    """The word for which the Translate page shows attention links.

    Attributes:
        side: "source" for a word of the sentence, "target" for a word of the translation.
        at: the 0-based index of the word; UNCHOSEN for the page's default word.
    """

    side: str = one_of(("source", "target"))
    at: int = index(MAX_INDEX, UNCHOSEN)

    def within(self, source: int, target: int) -> WordParams:
        """Return the parameters, or the default if the word does not exist; `source` and `target` are word counts."""
        return self if self.at < (source if self.side == "source" else target) else WordParams()

    def for_another_sentence(self) -> WordParams:
        return WordParams()

    def for_another_translation(self) -> WordParams:
        return self if self.side == "source" else WordParams()
