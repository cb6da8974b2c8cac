"""URL parameters of the "Change what it looks at" page: edited attention rows, and erased tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Self

from pages.ui.params.attention import pins
from pages.ui.params.fields import Params, matching, one_of, parsed
from transformer.values.kinds import KINDS, Kind

# A word's first and last token positions; equal if the word is a single token.
Span = tuple[int, int]

NONE = "none"
EVEN = "even"
ALL = "all"
BETWEEN_EDITS, BETWEEN_SHARES, TIMES, TO = "_", "~", "x", "-"
# Maximum number of edits. More of them might not fit in a URL.
MAX_EDITS = 60
MAX_PERCENT = 100

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
    """New attention weights for one token or word; indices and positions are 0-based.

    Attributes:
        kind: the kind of attention.
        layer, head: the indices of the layer and head; None for all layers or all heads.
        rows: the first and the last query position.
        shares: the spans of key positions to look at, each with its new weight in hundredths. The tokens of a word
            share the word's weight evenly, and the weights of all other key positions keep their proportions. If
            empty, all visible tokens get equal weights.
    """

    kind: Kind
    layer: int | None
    head: int | None
    rows: Span
    shares: tuple[tuple[Span, int], ...]

    def __str__(self) -> str:
        """Serialise the edit for a URL, with 1-based numbers, as in encoder.5.2.8~7x75 or encoder.all.all.8-9~even."""
        place = ".".join(ALL if number is None else str(number + 1) for number in (self.layer, self.head))
        shares = [f"{_written(columns)}{TIMES}{percent}" for columns, percent in self.shares] or [EVEN]
        return BETWEEN_SHARES.join([f"{self.kind}.{place}.{_written(self.rows)}", *shares])

    @classmethod
    def parse(cls, text: str) -> Edit | None:
        """Parse an edit from a URL; return None if the text is invalid."""
        match = EDIT.fullmatch(text)
        if match is None:
            return None
        layer, head = (None if match[name] == ALL else int(match[name]) - 1 for name in ("layer", "head"))
        shares = []
        for share in match["shares"].split(BETWEEN_SHARES)[1:]:
            if share != EVEN:
                columns, _, percent = share.partition(TIMES)
                shares.append((_span(columns), int(percent)))
        spans = [_span(match["rows"]), *(columns for columns, _ in shares)]
        if any(first > last for first, last in spans):
            return None
        return cls(next(kind for kind in KINDS if kind == match["kind"]), layer, head, spans[0], tuple(shares))


@dataclass(frozen=True)
class EditList:
    """Edits in the order in which the user made them; a later edit to a row replaces an earlier one.

    Attributes:
        edits: at most MAX_EDITS edits.
        unreadable: whether parsing left out edits, because they were invalid or there were more than MAX_EDITS.
    """

    edits: tuple[Edit, ...] = ()
    unreadable: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """Serialise the edits for a URL."""
        return BETWEEN_EDITS.join(map(str, self.edits)) or NONE

    @classmethod
    def parse(cls, text: str) -> EditList:
        """Parse a list of edits from a URL; leave out invalid edits and those beyond MAX_EDITS."""
        names = [] if text == NONE else text.split(BETWEEN_EDITS)
        edits = [edit for edit in map(Edit.parse, names[:MAX_EDITS]) if edit is not None]
        return cls(tuple(edits), unreadable=len(edits) < len(names))

    def without(self, number: int) -> EditList:
        """Return a copy without the edit at index `number`."""
        return EditList(self.edits[:number] + self.edits[number + 1 :])


@dataclass(frozen=True)
class EditParams(Params, prefix="edit_"):
    """The user's changes to attention, and the settings of the "Change what it looks at" page.

    Attributes:
        kind: the kind of attention to show.
        edits: the edited attention rows.
        hidden_source, hidden_target: the positions of the erased tokens in the sentence and in the translation.
        erasure: how erased source tokens are treated, one of ERASURES.
        step: the 1-based position of the predicted token to examine; if empty, the page chooses one.
    """

    OF_TRANSLATION = ("hidden_target", "step")
    OF_SENTENCE = ("edits", "hidden_source")

    kind: Kind = one_of(KINDS)
    edits: EditList = parsed(EditList(), EditList.parse)
    hidden_source: tuple[int, ...] = pins()
    hidden_target: tuple[int, ...] = pins()
    erasure: str = one_of(ERASURES)
    step: str = matching(_NUMBER)

    @property
    def left_out(self) -> bool:
        """Whether the model reads a shortened sentence, without the erased tokens."""
        return self.erasure == LEFT_OUT and bool(self.hidden_source)

    def for_another_translation(self) -> Self:
        """Return a copy without the settings and edits that depend on the old translation. Encoder edits are kept."""
        edits = EditList(tuple(edit for edit in self.edits.edits if edit.kind == "encoder"))
        return replace(super().for_another_translation(), edits=edits)


def _written(span: Span) -> str:
    first, last = span
    return str(first + 1) if first == last else f"{first + 1}{TO}{last + 1}"


def _span(text: str) -> Span:
    first, _, last = text.partition(TO)
    return int(first) - 1, int(last or first) - 1
