"""One kind of attention, to be looked at head by head; the same on three pages."""

from __future__ import annotations

import streamlit as st

from pages.ui import figures, state
from pages.ui.captions import how_to_read, sharpest, what_to_look_for
from pages.ui.sentence import read_sentence, show_translation
from transformer.analysis.view import View, view_of
from transformer.trace import Kind


def attention_page(kind: Kind, title: str, subtitle: str) -> None:
    """Draw the page of a kind.

    Args:
        kind: "encoder", "decoder" or "cross".
        title, subtitle: what it is, in the field's terms, and in one plain sentence.
    """
    reading = read_sentence()
    show_translation(reading)
    config = reading.translator.config
    layers = config.encoder_layers if kind == "encoder" else config.decoder_layers
    with st.container(horizontal=True, gap="medium"):
        choice = state.choice(layers, config.heads)
    st.markdown(f"**{title}:** {subtitle}")
    large, glance = st.columns([5, 3], gap="medium")
    # The settings stand below the grid, and everything above them is drawn with what they say.
    grid, settings = glance.container(), glance.container()
    with settings:
        options = state.options()
    view = view_of(reading.trace, kind, words=options.words, special=options.special)
    with large:
        show_head(view, choice, options.scale)
    with grid:
        show_all_heads(view, choice, options.scale)


def show_head(view: View, choice: state.Choice, scale: str) -> None:
    """The chosen head, with its sentences, its table and its export."""
    layer, head = choice.layer, choice.head
    st.markdown(f"**Layer {layer + 1}, head {head + 1}** · colours: {figures.SCALE_MEANS[scale]}")
    st.altair_chart(
        figures.heatmap(view, layer, head, scale=scale), key=f"{view.kind}_head", width="stretch",
        alt=f"Attention of layer {layer + 1}, head {head + 1}; the table below has the same numbers.",
    )
    st.caption(how_to_read(view))
    st.markdown(what_to_look_for(view, layer, head))
    numbers = figures.cells(view, layer, head)
    with st.expander("The numbers"):
        st.dataframe(numbers, hide_index=True, height=320)
        st.download_button(
            "Download CSV", numbers.to_csv(index=False), mime="text/csv", on_click="ignore",
            file_name=f"{view.kind}-layer{layer + 1}-head{head + 1}.csv", icon=":material/download:",
        )


def show_all_heads(view: View, choice: state.Choice, scale: str) -> None:
    """All layers by heads; a click chooses one."""
    key = f"{view.kind}_grid"

    def chosen() -> None:
        picked = st.session_state[key].selection[figures.PICK]
        if picked:
            state.choose(int(picked[0]["layer"]), int(picked[0]["head"]))

    st.markdown(f"**All {view.layers} × {view.heads} heads** · click one to enlarge it")
    st.altair_chart(
        figures.overview(view, (choice.layer, choice.head), scale=scale), key=key, width="stretch", on_select=chosen,
        selection_mode=figures.PICK, alt="Small maps of all heads, layers down and heads across.",
    )
    st.caption(f"Each is drawn like the large map. {sharpest(view)}")
