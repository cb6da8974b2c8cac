"""What the page Change what it looks at changes: rows of attention that are given, and pieces that are erased."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Self

from pages.ui.params.attention import pins
from pages.ui.params.fields import Params, matching, one_of, parsed
from transformer.values.kinds import KINDS, Kind

# First and last position of neighbouring pieces: those of a word, or one piece twice.
Span = tuple[int, int]

NONE = "none"
EVEN = "even"
ALL = "all"
BETWEEN_EDITS, BETWEEN_SHARES, TIMES, TO = "_", "~", "x", "-"
# More than fit into an address.
MOST_EDITS = 60
MOST_PERCENT = 100

_NUMBER = "[1-9][0-9]{0,2}"
_SPAN = rf"{_NUMBER}(?:{TO}{_NUMBER})?"
_SHARE = rf"{BETWEEN_SHARES}(?:{_SPAN}{TIMES}[0-9]{{1,3}})"
EDIT = re.compile(
    rf"(?P<kind>{'|'.join(KINDS)})\.(?P<layer>{_NUMBER}|{ALL})\.(?P<head>{_NUMBER}|{ALL})\.(?P<rows>{_SPAN})"
    rf"(?P<shares>{BETWEEN_SHARES}{EVEN}|(?:{_SHARE})+)"
)

INVISIBLE, LEFT_OUT = "invisible", "left_out"
ERASURES = (INVISIBLE, LEFT_OUT)


@dataclass(frozen=True)
class Edit:
    """One change of a row of attention, made on a piece or a word; numbers count from 0.

    Attributes:
        kind: of attention.
        layer, head: which; None for every one.
        rows: pieces that look.
        shares: what they look at, and with how many hundredths; the pieces of a word share evenly, and the other
            columns share the rest as before. Empty for an even share for every visible piece.
    """

    kind: Kind
    layer: int | None
    head: int | None
    rows: Span
    shares: tuple[tuple[Span, int], ...]

    def __str__(self) -> str:
        """As it reads in an address, counted from 1: encoder.5.2.8~7x75, encoder.all.all.8-9~even."""
        place = ".".join(ALL if number is None else str(number + 1) for number in (self.layer, self.head))
        shares = [f"{_written(columns)}{TIMES}{percent}" for columns, percent in self.shares] or [EVEN]
        return BETWEEN_SHARES.join([f"{self.kind}.{place}.{_written(self.rows)}", *shares])

    @classmethod
    def parse(cls, text: str) -> Edit | None:
        """The edit that reads so; None if it is none."""
        found = EDIT.fullmatch(text)
        if found is None:
            return None
        layer, head = (None if found[name] == ALL else int(found[name]) - 1 for name in ("layer", "head"))
        shares = []
        for share in found["shares"].split(BETWEEN_SHARES)[1:]:
            if share != EVEN:
                columns, _, percent = share.partition(TIMES)
                shares.append((_span(columns), int(percent)))
        spans = [_span(found["rows"]), *(columns for columns, _ in shares)]
        if any(first > last for first, last in spans):
            return None
        return cls(next(kind for kind in KINDS if kind == found["kind"]), layer, head, spans[0], tuple(shares))


@dataclass(frozen=True)
class EditList:
    """Edits in the order in which they were made; a later one of the same row takes the place of an earlier one.

    Attributes:
        edits: at most MOST_EDITS.
        unreadable: whether an address asked for something that is no edit, which is not among them.
    """

    edits: tuple[Edit, ...] = ()
    unreadable: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """As they read in an address."""
        return BETWEEN_EDITS.join(map(str, self.edits)) or NONE

    @classmethod
    def parse(cls, text: str) -> EditList:
        """The edits that can be read."""
        names = [] if text == NONE else text.split(BETWEEN_EDITS)
        edits = [edit for edit in map(Edit.parse, names[:MOST_EDITS]) if edit is not None]
        return cls(tuple(edits), unreadable=len(edits) < len(names))

    def without(self, number: int) -> EditList:
        """The same without the edit of a number, from 0."""
        return EditList(self.edits[:number] + self.edits[number + 1 :])


@dataclass(frozen=True)
class EditParams(Params, prefix="edit_"):
    """What the page changes, and what it shows of it.

    Attributes:
        kind: of the attention that is shown.
        edits: of rows, in the order in which they were made.
        hidden_source, hidden_target: positions of the erased pieces.
        erasure: what becomes of erased pieces of the source, one of ERASURES.
        step: position of the predicted piece that is looked at, from 1; empty lets the page choose.
    """

    kind: Kind = one_of(KINDS)
    edits: EditList = parsed(EditList(), EditList.parse)
    hidden_source: tuple[int, ...] = pins()
    hidden_target: tuple[int, ...] = pins()
    erasure: str = one_of(ERASURES)
    step: str = matching(_NUMBER)

    @property
    def left_out(self) -> bool:
        """Whether another sentence is read, without the erased pieces."""
        return self.erasure == LEFT_OUT and bool(self.hidden_source)

    def for_another_sentence(self) -> Self:
        return replace(self, edits=EditList(), hidden_source=(), hidden_target=(), step="")

    def for_another_translation(self) -> Self:
        """Only the encoder reads nothing of the translation."""
        edits = EditList(tuple(edit for edit in self.edits.edits if edit.kind == "encoder"))
        return replace(self, edits=edits, hidden_target=(), step="")


def _written(span: Span) -> str:
    first, last = span
    return str(first + 1) if first == last else f"{first + 1}{TO}{last + 1}"


def _span(text: str) -> Span:
    first, _, last = text.partition(TO)
    return int(first) - 1, int(last or first) - 1
