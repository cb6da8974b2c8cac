"""URL parameter for the user's list of sentences, used only in the URLs of slides."""

from dataclasses import dataclass

from pages.ui.params.fields import Params, typed_text


@dataclass(frozen=True)
class ListParams(Params, prefix="my_"):
    """The list of sentences in a slide's URL. Once the slide is open, the session stores the list, and URLs omit it.

    Attributes:
        sentences: the sentences, one per line.
    """

    sentences: str = typed_text("")
