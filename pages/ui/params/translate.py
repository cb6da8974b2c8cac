"""URL parameters of the first page: the shown frame of the film, and the chosen word."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.attention import MAX_INDEX, UNCHOSEN
from pages.ui.params.fields import Params, index, integer, one_of

# An upper limit above the number of frames of the film.
MAX_FRAMES = 99


@dataclass(frozen=True)
class FilmParams(Params, prefix="film_"):
    """The state of the film.

    Attributes:
        frame: the shown frame, from 1; 0 if the film is closed.
    """

    frame: int = integer(0, 0, MAX_FRAMES)

    def at_end(self) -> FilmParams:
        """Return a copy at the last frame; a closed film stays closed."""
        return FilmParams(MAX_FRAMES if self.frame else 0)


@dataclass(frozen=True)
class WordParams(Params, prefix="word_"):
    """The word whose links the first page shows.

    Attributes:
        side: the text that has the word: the sentence or its translation.
        at: the index of the word; UNCHOSEN for the word that the page opens with.
    """

    side: str = one_of(("source", "target"))
    at: int = index(MAX_INDEX, UNCHOSEN)

    def within(self, source: int, target: int) -> WordParams:
        """Return a copy for texts with these numbers of words; a word that does not exist becomes UNCHOSEN."""
        return self if self.at < (source if self.side == "source" else target) else WordParams()

    def for_another_sentence(self) -> WordParams:
        return WordParams()

    def for_another_translation(self) -> WordParams:
        return self if self.side == "source" else WordParams()
