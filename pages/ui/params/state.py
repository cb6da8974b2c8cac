"""The state of all pages as one value, with conversion to and from a URL."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pages.ui.params.fields import Params
from pages.ui.params.lecture import LectureParams
from pages.ui.params.shortening import length, shorten
from transformer.files.paths import ASSETS

# Names of the query parameters for the sentence and the translation.
TEXT = "text"
TARGET = "target"
# Maximum length of a percent-encoded query string, and maximum total length of the values in a URL offered for sharing,
# both in characters. Every text that a model can read fits.
MAX_ADDRESS, MAX_OFFERED = 11_000, 4_000
EXAMPLES: tuple[str, ...] = tuple(json.loads((ASSETS / "examples.json").read_text(encoding="utf-8")))
P = TypeVar("P", bound=Params)


@dataclass(frozen=True)
class State:
    """The state of all pages.

    Attributes:
        text: the sentence.
        target: a translation to read instead of the model's own; empty for none.
        params: the URL parameters of every page.
    """

    text: str = EXAMPLES[0]
    target: str = ""
    params: Mapping[type[Params], Params] = field(default_factory=lambda: {cls: cls() for cls in Params.registered()})

    def with_params(self, *values: Params) -> State:
        """Return a copy in which the given parameters replace those of the same class."""
        return replace(self, params={**self.params, **{type(value): value for value in values}})

    def of(self, cls: type[P]) -> P:
        """Return the parameters of the given class."""
        value = self.params.get(cls)
        return value if isinstance(value, cls) else cls()

    def each(self, change: Callable[[Params], Params]) -> State:
        """Return a copy with `change` applied to the parameters of every page."""
        return self.with_params(*map(change, self.params.values()))

    def to_address(self) -> dict[str, str]:
        """Return the URL's query parameters, without default values and with texts cut if the URL would be too long.

        Even a cut text is too long for the model, so opening the URL shows the same error message as the full text.
        """
        address = self._whole_address()
        if length(address) > MAX_ADDRESS:
            address = shorten(address, (TEXT, TARGET, *Params.typed_names()), MAX_ADDRESS)
        return address | self.of(LectureParams).to_address()

    def page_address(self) -> dict[str, str]:
        """Return the query parameters for sharing the page, without those of lecture mode; empty if too long."""
        address = self._whole_address()
        return address if sum(map(len, address.values())) <= MAX_OFFERED else {}

    def _whole_address(self) -> dict[str, str]:
        address = {TEXT: self.text, **({TARGET: self.target} if self.target else {})}
        for cls, value in self.params.items():
            if cls is not LectureParams:
                address |= value.to_address()
        return address

    @classmethod
    def from_address(cls, address: Mapping[str, str]) -> State:
        """Parse the query parameters of a URL, which must include the sentence."""
        return cls(
            address[TEXT],
            address.get(TARGET, ""),
            {params: params.from_address(address) for params in Params.registered()},
        )
