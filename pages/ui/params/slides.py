"""Slides of a lecture: URLs of the app's own pages, stored as a list in a URL or a text file.

URLs and files are untrusted: an invalid list becomes an empty list with a message.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from urllib.parse import parse_qsl, urlencode

from pages.ui.params.pages import PAGES
from transformer.files.experiment_mark import EMBEDDED
from transformer.text.normalisation import replace_surrogates

MAX_SLIDES = 60
# Maximum length of one slide's percent-encoded URL, in characters. Most URLs are much shorter, because only a page
# whose URL parameter values total at most `state.MAX_OFFERED` characters can become a slide.
LONGEST = 12_000
# Maximum length of the encoded list of slides, in characters, so that servers and proxies accept the whole URL.
LONGEST_CODE = 6_000
# Maximum size of a slide file, in bytes: LONGEST each for every slide's URL and experiment, which are both ASCII.
MAX_BYTES = 2 * MAX_SLIDES * LONGEST
ADDRESS = re.compile(r"([a-z_]+)\?([!-~]+)")
# The first line of a slide file, and the character that starts a comment line.
HEADING = "# Slides of Attention Atlas: one per line, in order. Lines that begin with # are comments."
REMARK = "#"
MAX_PARAMETERS = 200
# Name of the query parameter for a slide's title (not used by any page), and the maximum title length in characters.
TITLE, LONGEST_TITLE = "slide_title", 80


class SlidesError(ValueError):
    """A list of slides cannot be read or changed; the message is a clause that says why."""


@dataclass(frozen=True)
class Slide:
    """A slide of a lecture: a page of the app with all its settings.

    Attributes:
        page: the page's name.
        parameters: the query parameters of the page's URL.
        title: the lecturer's title; may be empty.
        experiment: the experiment saved with the page's figures when the slide was added; empty for none. Comparisons
            ignore this field, because it is stored in slide files but not in URLs.
    """

    page: str
    parameters: tuple[tuple[str, str], ...]
    title: str = ""
    experiment: str = field(default="", compare=False)

    def __str__(self) -> str:
        title = ((TITLE, self.title),) if self.title else ()
        return f"{self.page}?{urlencode(self.parameters + title, errors='replace')}"

    @classmethod
    def of(cls, page: str, address: Mapping[str, str]) -> Slide:
        """Return a slide of a page with the given query parameters, one of which may be the title."""
        address = dict(address)
        title = address.pop(TITLE, "")
        return cls(page, tuple(address.items())).titled(title)

    def titled(self, title: str) -> Slide:
        """Return a copy with a title, reduced to one line of at most LONGEST_TITLE characters."""
        printable = "".join(
            character for character in " ".join(replace_surrogates(title).split()) if character.isprintable()
        )
        return replace(self, title=printable[:LONGEST_TITLE].strip())

    def carrying(self, experiment: str) -> Slide:
        """Return a copy that carries `experiment`, or the slide unchanged if `experiment` is too long or invalid."""
        fits = len(experiment) <= LONGEST and EMBEDDED.fullmatch(experiment)
        return replace(self, experiment=experiment) if fits else self

    @classmethod
    def read(cls, line: str) -> Slide:
        """Parse one line of a slide list. Only pages of this app are accepted, so a list cannot lead to another site.

        Raises:
            SlidesError: the line is not the URL of a page of this app, or the URL contains no sentence.
        """
        match = ADDRESS.fullmatch(line) if len(line) <= LONGEST else None
        if match is None or match[1] not in PAGES:
            raise SlidesError(f"“{_short(line)}” is not a page of this app")
        try:
            parameters = dict(parse_qsl(match[2], strict_parsing=True, max_num_fields=MAX_PARAMETERS, errors="strict"))
        except ValueError as error:
            raise SlidesError(f"“{_short(line)}” is not a valid URL") from error
        if not parameters.get("text"):
            raise SlidesError(f"“{_short(line)}” has no sentence: add text=… to the URL")
        return cls.of(match[1], parameters)


@dataclass(frozen=True)
class Slides:
    """A list of slides; `str` serialises it for a URL.

    Attributes:
        slides: the slides in order.
        problem: a sentence that says why the list could not be read or changed; empty if there was no problem.
            Comparisons ignore this field, so a rejected list equals an empty one.
    """

    slides: tuple[Slide, ...] = ()
    problem: str = field(default="", compare=False)

    def __len__(self) -> int:
        return len(self.slides)

    def __str__(self) -> str:
        packed = zlib.compress("\n".join(map(str, self.slides)).encode("ascii"), level=9)
        return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")

    def to_file(self) -> str:
        """Return the slide list as the text of an editable file, with each slide's experiment in a comment below the
        slide's line.
        """
        experiments = ([f"{REMARK} {slide.experiment}"] if slide.experiment else [] for slide in self.slides)
        lines = ([str(slide), *more] for slide, more in zip(self.slides, experiments, strict=True))
        return "\n".join([HEADING, *chain.from_iterable(lines), ""])

    @classmethod
    def from_address(cls, code: str) -> Slides:
        """Parse a slide list from its encoded form in a URL."""
        try:
            return cls._of(_unpacked(code).split("\n"))
        except SlidesError as error:
            return cls(problem=f"The slides in this URL were left out: {error}.")

    @classmethod
    def from_file(cls, text: str) -> Slides:
        """Parse a slide list from the text of a file."""
        try:
            if len(text) > MAX_BYTES:
                raise SlidesError(f"it has {len(text):,} characters, but a list can have at most {MAX_BYTES:,}")
            lines = [*filter(None, map(str.strip, text.removeprefix("\ufeff").splitlines()))]
            listed = cls._of(line for line in lines if not line.startswith(REMARK))._fitting()
        except SlidesError as error:
            return cls(problem=f"This file was not loaded: {error}.")
        slides, above = list(listed.slides), -1
        for line in lines:
            if not line.startswith(REMARK):
                above += 1
            elif above >= 0:
                slides[above] = slides[above].carrying(line.removeprefix(REMARK).strip())
        return cls(tuple(slides))

    def added(self, slide: Slide) -> Slides:
        """Return a copy with a slide appended or, if there is no room, an unchanged copy whose `problem` says so."""
        return self._changed((*self.slides, slide), "This slide was not added")

    def moved(self, at: int, by: int) -> Slides:
        """Return a copy in which the slide at index `at` has moved by `by` places."""
        if not 0 <= at < len(self.slides):
            return self
        others = [*self.slides[:at], *self.slides[at + 1 :]]
        others.insert(min(max(at + by, 0), len(others)), self.slides[at])
        return self._changed(tuple(others), "This slide was not moved")

    def without(self, at: int) -> Slides:
        """Return a copy without the slide at index `at`."""
        return Slides(self.slides[:at] + self.slides[at + 1 :]) if 0 <= at < len(self.slides) else self

    def titled(self, at: int, title: str) -> Slides:
        """Return a copy with a new title for the slide at index `at`. If there is no room, only `problem` changes."""
        if not 0 <= at < len(self.slides):
            return self
        slide = self.slides[at].titled(title)
        return self._changed((*self.slides[:at], slide, *self.slides[at + 1 :]), "This title was not saved")

    def _changed(self, slides: tuple[Slide, ...], problem: str) -> Slides:
        try:
            if len(slides) > MAX_SLIDES:
                raise SlidesError(f"a list can have at most {MAX_SLIDES} slides; remove a slide first")
            return Slides(slides)._fitting()
        except SlidesError as error:
            return replace(self, problem=f"{problem}: {error}.")

    def _fitting(self) -> Slides:
        if any(len(str(slide)) > LONGEST for slide in self.slides) or len(str(self)) > LONGEST_CODE:
            raise SlidesError("the list would not fit in a URL; shorten its sentences, or make two lists")
        return self

    @classmethod
    def _of(cls, lines: Iterable[str]) -> Slides:
        listed = list(lines)
        if not listed:
            raise SlidesError("the list contains no slides")
        if len(listed) > MAX_SLIDES:
            raise SlidesError(f"a list can have at most {MAX_SLIDES} slides, and this one has {len(listed):,}")
        return cls(tuple(map(Slide.read, listed)))


def _unpacked(code: str) -> str:
    """Decode a slide list from a URL. Decompression stops at MAX_BYTES, so that a short code cannot exhaust memory."""
    if len(code) > LONGEST_CODE or not re.fullmatch("[A-Za-z0-9_-]+", code):
        raise SlidesError("the URL is incomplete or was changed; copy the whole URL again")
    unpacker = zlib.decompressobj()
    try:
        packed = base64.urlsafe_b64decode(code + "=" * (-len(code) % 4))
        text = unpacker.decompress(packed, MAX_BYTES)
        if not unpacker.eof:
            raise SlidesError("the URL is incomplete or contains too many slides")
        return text.decode("ascii")
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        raise SlidesError("the URL is incomplete or was changed; copy the whole URL again") from error


def _short(line: str) -> str:
    return line if len(line) <= 60 else f"{line[:60]}…"
