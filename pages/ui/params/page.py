"""A page and its parts, as the registry of pages describes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from transformer.values.trace import Kind


@dataclass(frozen=True)
class Part:
    """One of several parts of a page, which are shown one at a time.

    Attributes:
        title: the part's label; "{source}" and "{target}" stand for the languages of the model.
        show: the function that draws the part, as "module.function" in the page's folder.
        reads: whether the function takes the reading of the sentence.
        former: the part's names in old addresses.
    """

    title: str
    show: str
    reads: bool = True
    former: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """A page of the app.

    Attributes:
        name: the name of the page's script, also used in addresses.
        title: the title in the navigation.
        section: the section of the navigation.
        line: the page's purpose in one sentence, shown as a tooltip in the menu.
        shows: a description of the page's content for the README.
        needs: the model that the page requires.
        folder: the folder of the page's parts, below pages/ui; equal to `name` unless several pages share it.
        kind: the kind of attention that the page shows, if it shows only one.
        bet: the function that makes the page's bet from the reading of the sentence, as "module.function" in `folder`;
            empty for none.
        parts: the parts by their names in addresses; the first is the default.
    """

    name: str
    title: str
    section: str
    line: str
    shows: str
    needs: Literal["translator", "language model", "nothing"] = "translator"
    folder: str = ""
    kind: Kind | None = None
    bet: str = ""
    parts: Mapping[str, Part] = field(default_factory=dict)

    @property
    def script(self) -> str:
        """The path of the page's script, as Streamlit expects it."""
        return f"pages/{self.name}.py"

    def function(self, part: str) -> Callable[..., Any]:
        """Import and return the function that draws a part."""
        module, _, function = self.parts[part].show.rpartition(".")
        return getattr(import_module(f"pages.ui.{self.folder or self.name}.{module}"), function)
