"""URL parameters of lecture mode: whether it is on, and the lecture's slides."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pages.ui.params.fields import Params, flag, integer, parsed
from pages.ui.params.lessons import LessonParams
from pages.ui.params.slides import MAX_SLIDES, Slide, Slides

# Slide number if no slide is open.
NO_SLIDE = 0


@dataclass(frozen=True)
class LectureParams(Params):
    """The state of a lecture.

    Attributes:
        lecture: whether lecture mode is on. In lecture mode, the page's main figure fills the screen.
        qr: whether a QR code with the page's URL covers the page.
        slide: the 1-based number of the open slide; NO_SLIDE if no slide is open.
        slides: the slides of the lecture.
    """

    lecture: bool = flag()
    qr: bool = flag()
    slide: int = integer(NO_SLIDE, NO_SLIDE, MAX_SLIDES)
    slides: Slides = parsed(Slides(), Slides.from_address)

    def at(self, slide: int) -> LectureParams:
        """Return a copy that presents the slide with the given number in lecture mode."""
        return replace(self, lecture=True, qr=False, slide=slide)

    def with_slides(self, slides: Slides) -> LectureParams:
        """Return a copy with another list of slides, none of which is open."""
        return replace(self, slides=slides, slide=NO_SLIDE)

    def presents_as_slide(self, lesson: str) -> bool:
        """Return whether the open slide shows the lesson. If so, a clicker moves through slides, not lesson steps.

        The slide's page is checked too, because the URL keeps the slide number when the user opens another page.
        """
        slide = self.shown(self.slide)
        if not self.lecture or slide is None or slide.page != "lessons":
            return False
        return LessonParams.from_address(dict(slide.parameters)).id == lesson

    def heading(self, page: str) -> str:
        """Return the lecturer's title for the open slide if `page` presents the slide; otherwise an empty string."""
        slide = self.shown(self.slide)
        return slide.title if self.lecture and slide is not None and slide.page == page else ""

    def shown(self, number: int) -> Slide | None:
        """Return the slide with the given 1-based number; None if there is no such slide."""
        return self.slides.slides[number - 1] if 1 <= number <= len(self.slides) else None
