"""Shows a trace's attention in a notebook, or saves it as one HTML file that needs neither a server nor a network."""

import sys
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from attention_atlas.browser.html_file import document
from attention_atlas.browser.messages import first_shown, messages_of
from attention_atlas.browser.picture import picture
from attention_atlas.browser.wire import unframe
from transformer.errors import AttentionError
from transformer.values.foreign_attention import is_causal, weights_of
from transformer.values.kinds import KINDS
from transformer.values.trace import Kind, Trace

# File that `show` writes if it cannot display a drawing.
DEFAULT_FILE = "attention.html"
HEIGHT = 760


class Drawing:
    """The attention browser for a trace, as one HTML document that a notebook can display.

    Args:
        trace: trace to draw.
        kind: attention kind to show first; None means the trace's last kind.
        title: title of the document; if empty, the beginning of the text.
        choice: initial selection; the keys are those of `attention_atlas.browser.payload.CHOICE`. Layers and heads are
            0-based.

    Attributes:
        trace: trace that is drawn.
        messages: messages to the browser, by attention kind.
    """

    def __init__(self, trace: Trace, *, kind: Kind | None = None, title: str = "", **choice: Any) -> None:
        self.trace, self.title = trace, title
        self.kind: Kind
        self.kind, self.choice = first_shown(trace, kind, choice)

    @cached_property
    def messages(self) -> dict[Kind, bytes]:
        return messages_of(self.trace, self.kind, self.choice)

    @cached_property
    def data(self) -> str:
        """The HTML document. IPython's display objects, which BertViz uses, call this attribute `data` as well."""
        return document(self.messages, kind=self.kind, title=self.title)

    def save(self, path: str | Path) -> None:
        """Save the drawing. The file extension selects the format.

        Args:
            path: .html for the document, .svg for an image of the head shown first, or .npz for the arrays, which the
                app and `Trace.from_npz` read.

        Raises:
            AttentionError: the path has another extension.
        """
        path = Path(path)
        if path.suffix == ".npz":
            self.trace.to_npz(path)
        elif path.suffix in (".html", ".svg"):
            path.write_text(self.data if path.suffix == ".html" else self._repr_svg_(), encoding="utf-8")
        else:
            raise AttentionError(f"Cannot save {path.name}: the name must end in .html, .svg or .npz.")

    def _repr_svg_(self) -> str:
        return picture(self.trace, self.kind, unframe(self.messages[self.kind])[0]["asked"]["choice"])

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.data)}" title="Attention" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )


def trace_of(attention: Any, tokens: Any, **others: Any) -> Trace:
    """Return a trace with one stack's self-attention: the decoder's if no token looks ahead, otherwise the encoder's.

    Args:
        attention, tokens: as in `Trace.from_attention`.
        others: the arguments `text`, `offsets`, `mask` and `item` of `Trace.from_attention`, without the prefix
            "source_" or "target_".
    """
    causal = is_causal(weights_of(attention, "model's", item=others.get("item")))
    stack, side = ("decoder", "target") if causal else ("encoder", "source")
    arguments = {name if name == "item" else f"{side}_{name}": value for name, value in others.items()}
    return Trace.from_attention(**{stack: attention, f"{side}_tokens": tokens, **arguments})


def show(
    attention: Any = None,
    tokens: Any = None,
    *,
    save: str | Path | None = None,
    title: str = "",
    kind: Kind | None = None,
    layer: int | None = None,
    head: int | None = None,
    **arrays: Any,
) -> Drawing | None:
    """Show attention in a notebook; elsewhere, write an HTML file and print its path.

    Args:
        attention: a trace; or the self-attention of a model with one stack, together with `tokens`.
        tokens: tokens of `attention`.
        save: path of a file to write in addition; the formats are those of `Drawing.save`.
        title, kind, layer, head: as in `Drawing`.
        arrays: other arguments of `Trace.from_attention`.

    Returns:
        The drawing; None if it was displayed.

    Raises:
        AttentionError: the arguments are not valid attention; the message says what to do.
    """
    if isinstance(attention, Trace):
        trace = attention
    elif tokens is not None and arrays.keys() & set(KINDS):
        raise AttentionError("With encoder=, decoder= or cross=, pass source_tokens and target_tokens, not tokens.")
    elif attention is not None or tokens is not None:
        trace = trace_of(attention, () if tokens is None else tokens, **arrays)
    else:
        trace = Trace.from_attention(**arrays)
    drawing = Drawing(trace, kind=kind, title=title, layer=layer, head=head)
    if save is not None:
        drawing.save(save)
    return display(drawing, written=save is not None and Path(save).suffix != ".npz")


def display(drawing: Drawing, *, written: bool = False) -> Drawing | None:
    """Display a drawing in a Jupyter notebook, as a widget if anywidget is installed; elsewhere, write an HTML file.

    In a marimo notebook, only return the drawing, because marimo displays it.

    Args:
        drawing: drawing to display.
        written: whether a file was already written, so that none is written here.

    Returns:
        The drawing; None if it was displayed.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if hasattr(shell, "kernel"):
        try:
            from attention_atlas.widget import Browser
        except ImportError:
            output = drawing
        else:
            output = Browser(drawing.trace, kind=drawing.kind, **drawing.choice)
        sys.modules["IPython"].display.display(output)
        return None
    marimo = sys.modules.get("marimo")
    if not written and not (marimo and marimo.running_in_notebook()):
        drawing.save(DEFAULT_FILE)
        print(f"Saved {Path(DEFAULT_FILE).resolve()}; open it in a browser")
    return drawing
