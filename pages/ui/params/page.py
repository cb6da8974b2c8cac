"""Classes for the entries of the page registry: pages and their parts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from transformer.values.trace import Kind


@dataclass(frozen=True)
class Part:
    """A part of a page; a page shows one part at a time.

    Attributes:
        title: the part's label, in which "{source}" and "{target}" stand for the model's languages.
        show: the function that renders the part, as "module.function" in the page's folder.
        reads: whether the function takes the `Reading` of the sentence as its argument.
        former: the part's names in old URLs.
    """

    title: str
    show: str
    reads: bool = True
    former: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """A page of the app.

    Attributes:
        name: the name of the page's script and its URL path.
        title: the title in the navigation.
        section: the section of the navigation.
        line: the page's purpose in one sentence, shown as a tooltip in the menu.
        shows: a description of the page's content for the README.
        needs: the kind of model that the page requires.
        folder: the folder in pages/ui that contains the page's parts; empty if the folder has the page's name.
        kind: the kind of attention, for a page that shows only one kind.
        bet: the function that makes the page's bet from the `Reading` of the sentence, as "module.function" in the
            page's folder; empty for none.
        parts: the page's parts by their names in URLs; the first is the default.
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
        """Import and return the function that renders a part."""
        module, _, function = self.parts[part].show.rpartition(".")
        return getattr(import_module(f"pages.ui.{self.folder or self.name}.{module}"), function)
