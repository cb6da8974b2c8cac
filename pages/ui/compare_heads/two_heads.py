"""Shows two heads, A and B, side by side on one or two texts, and the difference between their maps."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attention_atlas.browser.labels import SHORT_TITLES, place_of
from pages.ui.components.side_by_side import DIFFERENCE, Map, head_map, side_by_side
from pages.ui.layout.roles import main_figure
from pages.ui.params.compare_heads import CompareParams, Pin
from pages.ui.reading.pairs import (
    PAIRS,
    Pair,
    describe_differences,
    describe_looks,
    describe_translations,
    largest_differences,
)
from pages.ui.runs.inference import CachedRuns
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import preset, setting
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from transformer.analysis.view import View, view_of
from transformer.config import TransformerConfig
from transformer.errors import AtlasError
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.text.languages import LANGUAGES
from transformer.text.vocabulary import split_code
from transformer.values.trace import KINDS, Kind, Trace

# Pattern of a decoder row's label: the token read and the token predicted.
STEP = re.compile(r"in: (.+) → out: (.+)", re.DOTALL)


@dataclass(frozen=True)
class ComparedModel:
    """The model whose heads are compared, and the texts to run the model on.

    Attributes:
        config: the model's configuration.
        kinds: the model's attention kinds.
        fields: the names of the `CompareParams` fields that store heads A and B.
        read: runs the model on a text and returns the trace; raises an AtlasError if the model cannot read the text.
        noun: what the page calls a text, such as "sentence".
        own: the user's text.
        pairs: example pairs of texts.
        written: returns the model's output for a trace as Markdown; None if the page does not show any output.
    """

    config: TransformerConfig
    kinds: tuple[Kind, ...]
    fields: tuple[str, str]
    read: Callable[[str], Trace]
    noun: str
    own: str
    pairs: Sequence[Pair]
    written: Callable[[Trace], str] | None = None

    def pins(self) -> dict[str, Pin]:
        """Return the chosen heads A and B by field name, limited to the kinds, layers and heads that the model has."""
        pins = {}
        for field in self.fields:
            pin: Pin = getattr(session.params(CompareParams), field)
            pin = pin if pin.kind in self.kinds else replace(pin, kind=self.kinds[0])
            pins[field] = pin.within(self.config.layers_of(pin.kind), self.config.heads)
        return pins


def compared_translator(model: Translator) -> ComparedModel:
    """Return a `ComparedModel` for a translator. The text that the user enters is the sentence that all pages share."""

    def written(trace: Trace) -> str:
        language = model.languages.for_codes(split_code(trace.source_text, model.tokenizer.codes)[0]).target
        return f"**{markdown(language.name)}:** {markdown(trace.target_text)}"

    runs = CachedRuns(model)
    # The example pairs are in English, so offer them only if the model reads English.
    english = model.languages.source.name == LANGUAGES.source.name
    return ComparedModel(
        model.config,
        KINDS,
        ("a", "b"),
        lambda text: runs.get(TraceRun(text)),
        "sentence",
        session.text(),
        PAIRS if english else (),
        written,
    )


def show_two_heads(model: ComparedModel, controls: DeltaGenerator) -> None:
    """Show the example pairs, the controls for heads A and B, the maps, and a list of the heads that differ most.

    Args:
        model: the model whose heads are compared.
        controls: the container for the controls that choose texts and heads.
    """
    with controls.popover("Try a pair"):
        _offer_pairs(model)
    pins, traces = model.pins(), {}
    names = dict(zip(pins, "AB", strict=True))
    for column, (field, pin) in zip(st.columns(2, gap="large"), pins.items(), strict=True):
        with controls.popover(f"Head {names[field]}"):
            _pick_head(field, pin, model)
        with column:
            st.text_input(f"{model.noun.capitalize()} {names[field]}", **_pin_binding(field, pin, "text"))
            traces[field] = _trace(model, pin)
    views = {field: view_of(traces[field], pin.kind, words=pin.words) for field, pin in pins.items()}
    sides = [head_map(names[field], views[field], pin.layer, pin.head) for field, pin in pins.items()]
    (a, b), (first, second) = pins.values(), views.values()
    agree = a.kind == b.kind and first.mask.shape == second.mask.shape
    if agree:
        sides.append(_difference(sides))
    texts = " · ".join(f"{names[field]}: {pin.text}" for field, pin in pins.items())
    with main_figure(
        f"{_describe_largest_difference(sides[2]) if agree else '**Two heads compared.**'} {markdown(texts)}"
    ):
        side_by_side(sides, "two_heads", sentence=texts)
    if model.written:
        for column, trace in zip(st.columns(2, gap="large"), traces.values(), strict=True):
            column.markdown(model.written(trace))
        _show_changes(pins, traces, views)
    if agree:
        st.markdown(_describe_largest_difference(sides[2]))
    else:
        st.caption(
            "The difference cannot be shown: A and B need the same kind of attention and the same number of rows and "
            "columns. Try words instead of tokens: sentences with different numbers of tokens often have the same "
            "number of words."
        )
    _list_heads(pins, traces)


def _offer_pairs(model: ComparedModel) -> None:
    """Show a button for each example pair of texts, and a button that uses the user's own text for both A and B."""
    for number, pair in enumerate(model.pairs):
        st.button(
            pair.name, key=f"compare_pair_{number}", width="stretch", on_click=_compare, args=(model, pair.a, pair.b)
        )
    st.button(
        f"My {model.noun}",
        key="compare_mine",
        width="stretch",
        on_click=_compare,
        args=(model, model.own, model.own),
        disabled=not model.own.strip(),
        help=f"Uses your {model.noun} for both A and B. You can then change one word of B and press Enter.",
    )


def _compare(model: ComparedModel, *texts: str) -> None:
    """Callback: show head A on two texts, with tokens merged into words."""
    pin = next(iter(model.pins().values()))
    pins = {field: replace(pin, text=text, words=True) for field, text in zip(model.fields, texts, strict=True)}
    session.update(CompareParams, **pins)


def _show_changes(pins: dict[str, Pin], traces: dict[str, Trace], views: dict[str, View]) -> None:
    """Describe how the translation and the chosen head's attention differ between the two texts."""
    (a, b), (first, second) = traces.values(), pins.values()
    if a.source_text == b.source_text:
        return
    sentences = [describe_differences(a.target_text, b.target_text)]
    pair = next((each for each in PAIRS if (each.a, each.b) == (a.source_text, b.source_text)), None)
    if pair is not None:
        sentences = [describe_translations(pair, a, b), *sentences]
        if replace(first, text="") == replace(second, text=""):
            sentences.append(describe_looks(pair.word, views, first.layer, first.head))
    st.markdown(" ".join(filter(None, sentences)), help=explain("alignment"))


def _list_heads(pins: dict[str, Pin], traces: dict[str, Trace]) -> None:
    """Show the heads whose attention differs most between texts A and B; clicking one shows its maps."""
    differences = largest_differences(*traces.values())
    if not differences:
        return
    st.markdown(
        f"**The heads that differ most between A and B**, in nats per row (at most {np.log(2):.3f}). Click one to see "
        "it above.",
        help=explain("Jensen-Shannon divergence", "nats"),
    )
    with st.container(horizontal=True):
        for difference in differences:
            head = {"kind": difference.kind, "layer": difference.layer, "head": difference.head, "words": True}
            is_shown = all(
                (pin.kind, pin.layer, pin.head) == (difference.kind, difference.layer, difference.head)
                for pin in pins.values()
            )
            st.button(
                f"{SHORT_TITLES[difference.kind]}, layer {difference.layer + 1}, head {difference.head + 1}: "
                f"{difference.nats:.3f}",
                key=f"compare_open_{difference.kind}_{difference.layer}_{difference.head}",
                disabled=is_shown,
                **setting(CompareParams, **{name: replace(pin, **head) for name, pin in pins.items()}),
            )


def _pin_binding(name: str, pin: Pin, field: str) -> dict[str, Any]:
    """Return the key and callback of a widget that edits one field of a pin."""
    key = f"compare_{name}_{field}"

    def store() -> None:
        pin = getattr(session.params(CompareParams), name)
        session.update(CompareParams, **{name: replace(pin, **{field: st.session_state[key]})})

    return {"key": preset(key, getattr(pin, field)), "on_change": store}


def _pick_head(name: str, pin: Pin, model: ComparedModel) -> None:
    layers, heads = range(model.config.layers_of(pin.kind)), range(model.config.heads)
    kind, layer, head = st.columns([3, 2, 2])
    if len(model.kinds) > 1:
        kind.selectbox(
            "Attention", model.kinds, format_func=SHORT_TITLES.__getitem__, **_pin_binding(name, pin, "kind")
        )
    layer.selectbox("Layer", layers, format_func=_one_based, **_pin_binding(name, pin, "layer"))
    head.selectbox("Head", heads, format_func=_one_based, **_pin_binding(name, pin, "head"))
    st.toggle("Words", **_pin_binding(name, pin, "words"))


def _one_based(number: int) -> str:
    return str(number + 1)


def _trace(model: ComparedModel, pin: Pin) -> Trace:
    try:
        return model.read(pin.text)
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        raise PageEnd from None


def _difference(sides: list[Map]) -> Map:
    """Return the map of B minus A. Where the tokens of A and B differ, a label names both."""
    first, second = sides
    values = (second.values - first.values).round(4)
    return Map(
        "B minus A",
        list(map(_merged_label, first.rows, second.rows)),
        list(map(_merged_label, first.columns, second.columns)),
        values,
        first.mask | second.mask,
        words=first.words,
        scale=DIFFERENCE,
        measure="difference",
    )


def _merged_label(first: str, second: str) -> str:
    """Combine two labels into one, for example "in: cat / mat → out: sits"; common parts appear once."""
    steps = STEP.fullmatch(first), STEP.fullmatch(second)
    if steps[0] and steps[1]:
        read, predicted = map(_merged_label, steps[0].groups(), steps[1].groups())
        return f"in: {read} → out: {predicted}"
    return first if first == second else f"{first} / {second}"


def _describe_largest_difference(difference: Map) -> str:
    """Return Markdown that names the cell with the largest difference."""
    row, column = map(int, np.unravel_index(np.abs(difference.values).argmax(), difference.values.shape))
    value = difference.values[row, column]
    if value == 0:
        return "The two maps are identical."
    source, target = (
        f"**{markdown(labels[at])}**{place_of(labels, at)}"
        for labels, at in ((difference.rows, row), (difference.columns, column))
    )
    higher = "higher" if value > 0 else "lower"
    return f"The weight from {source} to {target} differs most: it is {abs(value):.2f} {higher} in B than in A."
