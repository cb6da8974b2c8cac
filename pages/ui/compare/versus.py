"""Two heads, on one sentence or on two, side by side, and their difference where the axes agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from pages.ui import inference, state
from pages.ui.browser import TITLES
from pages.ui.compare.comparison import Comparison, Pin
from pages.ui.labels import column_labels, row_labels
from pages.ui.maps import DIFFERENCE, Map, side_by_side
from pages.ui.payload import decimals
from pages.ui.plain import markdown
from transformer.analysis.similarity import jensen_shannon
from transformer.analysis.view import View, view_of
from transformer.errors import AtlasError
from transformer.translator import Translator

SHORT = {"encoder": "Encoder", "decoder": "Masked", "cross": "Cross"}

def show_versus(model: Translator) -> None:
    """The two pins with their controls, the maps, and what differs most."""
    comparison = state.own(Comparison)
    limits = model.config.decoder_layers, model.config.heads
    pins = {name: pin.within(*limits) for name, pin in (("a", comparison.a), ("b", comparison.b))}
    for column, (name, pin) in zip(st.columns(2, gap="large"), pins.items(), strict=True):
        with column:
            _controls(name, pin, model)
    views = {name: _view(model, pin) for name, pin in pins.items()}
    sides = [_side(f"{name.upper()}: {_title(pin)}", views[name], pin) for name, pin in pins.items()]
    agree = pins["a"].kind == pins["b"].kind and views["a"].mask.shape == views["b"].mask.shape
    if agree:
        sides.append(_difference(sides))
    side_by_side(sides, "versus")
    if agree:
        st.markdown(_differs_most(sides[2]))
        _other_heads(pins["a"], pins["b"], views)
    else:
        st.caption(
            "There is no difference to draw: both need the same kind of attention and equally many rows and columns. "
            "Words often agree where pieces do not."
        )


def _controls(name: str, pin: Pin, model: Translator) -> None:
    def keep(field: str) -> None:
        value = st.session_state[f"compare_{name}_{field}"]
        state.keep(Comparison, **{name: replace(getattr(state.own(Comparison), name), **{field: value})})

    def held(field: str) -> dict[str, Any]:
        return {
            "key": state.hold(f"compare_{name}_{field}", getattr(pin, field)), "on_change": keep, "args": (field,),
        }

    st.text_input(f"Sentence {name.upper()}", **held("text"))
    kind, layer, head, words = st.columns([3, 2, 2, 3], vertical_alignment="bottom")
    kind.selectbox("Attention", SHORT, format_func=SHORT.get, **held("kind"))
    layer.selectbox("Layer", range(model.config.decoder_layers), format_func=_from_one, **held("layer"))
    head.selectbox("Head", range(model.config.heads), format_func=_from_one, **held("head"))
    words.toggle("Words", **held("words"))


def _from_one(number: int) -> str:
    return str(number + 1)


def _view(model: Translator, pin: Pin) -> View:
    try:
        trace = inference.translate(model, model.version, model.device, pin.text)
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        st.stop()
    return view_of(trace, pin.kind, words=pin.words)


def _title(pin: Pin) -> str:
    return f"{TITLES[pin.kind]}, layer {pin.layer + 1}, head {pin.head + 1}"


def _side(title: str, view: View, pin: Pin) -> Map:
    weights = decimals(view.weights[pin.layer, pin.head])
    return Map(title, row_labels(view.axes), column_labels(view.axes), weights, view.mask, words=view.axes.words)


def _difference(sides: list[Map]) -> Map:
    """B minus A; where their pieces differ, both are named."""
    first, second = sides
    values = (second.values - first.values).round(4)
    return Map(
        "B minus A", list(map(_both, first.rows, second.rows)), list(map(_both, first.columns, second.columns)), values,
        first.mask | second.mask, words=first.words, scale=DIFFERENCE, measure="difference",
    )


def _other_heads(a: Pin, b: Pin, views: dict[str, View]) -> None:
    """Which head of this kind differs most between the two sentences, and the way there."""
    apart = jensen_shannon(views["a"].weights.astype(float), views["b"].weights.astype(float)).mean(axis=-1)
    layer, head = map(int, np.unravel_index(apart.argmax(), apart.shape))
    if apart[layer, head] == 0 or (a.layer, a.head) == (b.layer, b.head) == (layer, head):
        return
    words, button = st.columns([6, 2], vertical_alignment="center")
    words.markdown(
        f"Of all heads of this kind, **layer {layer + 1}, head {head + 1}** differs most between the two: by "
        f"{apart[layer, head]:.3f} nats a row (Jensen-Shannon divergence, at most {np.log(2):.3f})."
    )
    button.button(
        "Show that head", width="stretch", on_click=state.keep, args=(Comparison,),
        kwargs={"a": replace(a, layer=layer, head=head), "b": replace(b, layer=layer, head=head)},
    )


def _both(one: str, other: str) -> str:
    return one if one == other else f"{one} / {other}"


def _differs_most(difference: Map) -> str:
    """Markdown: the cell with the largest difference."""
    row, column = np.unravel_index(np.abs(difference.values).argmax(), difference.values.shape)
    value = difference.values[row, column]
    if value == 0:
        return "The two maps are equal."
    source, target = markdown(difference.rows[row]), markdown(difference.columns[column])
    more = "more" if value > 0 else "less"
    return f"They differ most here: in B, **{source}** looks at **{target}** {more} than in A, by {abs(value):.2f}."
