"""URL parameters of the first page: the shown frame of the film."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.fields import Params, integer

# More frames than the film has.
MOST_FRAMES = 99


@dataclass(frozen=True)
class FilmParams(Params, prefix="film_"):
    """The film.

    Attributes:
        frame: from 1; 0 if the film is closed.
    """

    frame: int = integer(0, 0, MOST_FRAMES)

    def at_end(self) -> FilmParams:
        """Return the last frame of an open film."""
        return FilmParams(MOST_FRAMES if self.frame else 0)
