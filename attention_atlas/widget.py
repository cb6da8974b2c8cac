"""The attention browser as a notebook widget; Python can read and set the selected head and the pins."""

import json
from typing import Any, cast

from attention_atlas.browser.html_file import theme
from attention_atlas.browser.messages import first_shown, messages_of
from attention_atlas.browser.picture import image
from attention_atlas.browser.scripts import script, style
from attention_atlas.browser.wire import unframe
from transformer.values.trace import Kind, Trace

try:
    import anywidget  # pyright: ignore[reportMissingImports]
    import traitlets
except ImportError as error:
    raise ImportError(
        "Browser needs anywidget: run pip install 'attention-atlas[widget]'. show() works without it."
    ) from error

ENTRY = "attention_browser/widget"
# Placeholder in the script, replaced with the style sheet.
STYLE_PLACEHOLDER = 'SHEET = "";'
# Traits synchronised in both directions: selections by the user, and values set in Python.
CHOICE_TRAITS = ("layer", "head", "rows", "columns")


class Browser(anywidget.AnyWidget):
    """Notebook widget that shows all heads in a trace.

    Args:
        trace: trace to draw.
        kind: attention kind to show first; None means the trace's last kind.
        choice: initial selection; the keys are those of `attention_atlas.browser.payload.CHOICE`.

    Attributes:
        kind: attention kind on display.
        layer, head: 0-based layer and head on display; both can be set.
        rows, columns: positions of pinned tokens; a row and a column together pin a cell.
    """

    _esm = script(ENTRY).replace(
        STYLE_PLACEHOLDER, f"SHEET = {json.dumps(theme(':host', dark=':host(.dark)') + style(ENTRY))};"
    )
    messages = traitlets.Dict().tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    head = traitlets.Int().tag(sync=True)
    rows = traitlets.List(traitlets.Int()).tag(sync=True)
    columns = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self, trace: Trace, *, kind: Kind | None = None, **choice: Any) -> None:
        kind_shown, complete = first_shown(trace, kind, choice)
        messages = messages_of(trace, kind_shown, complete)
        choice_shown = unframe(messages[kind_shown])[0]["asked"]["choice"]
        super().__init__(messages=messages, kind=kind_shown, **{name: choice_shown[name] for name in CHOICE_TRAITS})
        self.trace, self.choice = trace, choice_shown

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the widget and, for a notebook without a kernel, an image of the current head."""
        kind = cast(Kind, self.kind)
        # If the attention kind was changed after the head was selected, the new kind may lack the selected layer or
        # head.
        layers, heads = self.trace.attention(kind).shape[:2]
        self.layer, self.head = min(self.layer, layers - 1), min(self.head, heads - 1)
        bundle, metadata = super()._repr_mimebundle_(**options) or ({}, {})
        choice = {**self.choice, "layer": self.layer, "head": self.head}
        return {**bundle, "text/html": image(self.trace, kind, choice)}, metadata

    @traitlets.validate("kind")
    def _known(self, proposal: Any) -> str:
        kinds = self.messages
        if kinds and proposal.value not in kinds:
            raise traitlets.TraitError(f"there is no {proposal.value} attention; choose from: {', '.join(kinds)}")
        return proposal.value

    @traitlets.validate("layer", "head")
    def _existing(self, proposal: Any) -> int:
        place = "layer", "head"
        trace = getattr(self, "trace", None)
        count = None if trace is None else trace.attention(self.kind).shape[place.index(proposal.trait.name)]
        if count is not None and not 0 <= proposal.value < count:
            raise traitlets.TraitError(
                f"there is no {proposal.trait.name} {proposal.value}: choose a number from 0 to {count - 1}"
            )
        return proposal.value
