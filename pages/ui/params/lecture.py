"""Lecture mode: whether the page is presented, and the slides of the lecture."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pages.ui.params.fields import Params, flag, integer, parsed
from pages.ui.params.lessons import LessonParams
from pages.ui.params.slides import MOST_SLIDES, Slide, Slides

# A page that is not one of the slides.
NO_SLIDE = 0


@dataclass(frozen=True)
class LectureParams(Params):
    """What a lecturer does with a page.

    Attributes:
        lecture: the page shows its main figure as large as the screen, and nothing else.
        qr: its address stands over it as a QR code.
        slide: the number of the slide that is shown, from 1; NO_SLIDE for a page that is none.
        slides: of the lecture.
    """

    lecture: bool = flag()
    qr: bool = flag()
    slide: int = integer(NO_SLIDE, NO_SLIDE, MOST_SLIDES)
    slides: Slides = parsed(Slides(), Slides.from_address)

    def at(self, slide: int) -> LectureParams:
        """The same at another slide, in lecture mode."""
        return replace(self, lecture=True, qr=False, slide=slide)

    def with_slides(self, slides: Slides) -> LectureParams:
        """The same with another list, none of which is shown."""
        return replace(self, slides=slides, slide=NO_SLIDE)

    def presents_as_slide(self, lesson: str) -> bool:
        """Whether a lesson that is open is presented as the slide that is shown, which a clicker leaves for the next.

        Whoever left the lecture mode and opened something else still has the number of that slide.
        """
        slide = self.shown(self.slide)
        if not self.lecture or slide is None or slide.page != "lessons":
            return False
        return LessonParams.from_address(dict(slide.parameters)).id == lesson

    def heading(self, page: str) -> str:
        """The own title of the slide that is presented; empty where it has none, or another page is presented."""
        slide = self.shown(self.slide)
        return slide.title if self.lecture and slide is not None and slide.page == page else ""

    def shown(self, number: int) -> Slide | None:
        """The slide of a number, from 1."""
        return self.slides.slides[number - 1] if 1 <= number <= len(self.slides) else None
