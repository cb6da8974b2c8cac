"""URL parameters of lecture mode: whether the page is presented, and the slides of the lecture."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pages.ui.params.fields import Params, flag, integer, parsed
from pages.ui.params.lessons import LessonParams
from pages.ui.params.slides import MAX_SLIDES, Slide, Slides

# Slide number of a page that is not a slide.
NO_SLIDE = 0


@dataclass(frozen=True)
class LectureParams(Params):
    """The state of a lecture.

    Attributes:
        lecture: whether the page shows only its main figure, as large as the screen.
        qr: whether a QR code of the page's address covers the page.
        slide: the number of the shown slide, from 1; NO_SLIDE if the page is not a slide.
        slides: the slides of the lecture.
    """

    lecture: bool = flag()
    qr: bool = flag()
    slide: int = integer(NO_SLIDE, NO_SLIDE, MAX_SLIDES)
    slides: Slides = parsed(Slides(), Slides.from_address)

    def at(self, slide: int) -> LectureParams:
        """Return a copy that shows another slide in lecture mode."""
        return replace(self, lecture=True, qr=False, slide=slide)

    def with_slides(self, slides: Slides) -> LectureParams:
        """Return a copy with another list of slides, none of which is shown."""
        return replace(self, slides=slides, slide=NO_SLIDE)

    def presents_as_slide(self, lesson: str) -> bool:
        """Return whether the open lesson is presented as the shown slide; a clicker then leaves it for the next slide.

        A user who left lecture mode and opened another page still has the number of that slide.
        """
        slide = self.shown(self.slide)
        if not self.lecture or slide is None or slide.page != "lessons":
            return False
        return LessonParams.from_address(dict(slide.parameters)).id == lesson

    def heading(self, page: str) -> str:
        """Return the lecturer's title of the shown slide; empty if it has none, or if another page is presented."""
        slide = self.shown(self.slide)
        return slide.title if self.lecture and slide is not None and slide.page == page else ""

    def shown(self, number: int) -> Slide | None:
        """Return a slide by its number, from 1; None if there is no such slide."""
        return self.slides.slides[number - 1] if 1 <= number <= len(self.slides) else None
