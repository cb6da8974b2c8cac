"""URL parameters of the first page: the shown frame of the film."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.fields import Params, integer

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
