"""The sentence: typed or picked, translated, or answered by one line that says what is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.ui import inference, state
from pages.ui.plain import markdown
from transformer.errors import AtlasError
from transformer.trace import Trace
from transformer.translator import MAX_PIECES, Translator, available_devices


@dataclass(frozen=True)
class Reading:
    """A sentence that was read, and who read it."""

    translator: Translator
    trace: Trace


def translator() -> Translator:
    """The model on the chosen device; stops the page with one message if there is none."""
    devices = available_devices()
    device = st.session_state.get(state.DEVICE)
    try:
        return inference.load_translator(device if device in devices else devices[0])
    except AtlasError as error:
        st.error(markdown(str(error)), icon=":material/error:")
        st.stop()


def device_choice() -> None:
    """Where the model runs: chosen by itself, and open to another choice."""
    devices = available_devices()
    st.selectbox(
        "Device", devices, key=state.DEVICE, persist_state="session", format_func=str.upper,
        help="The fastest one of this machine is chosen by itself.",
    )


def read_sentence() -> Reading:
    """Draw the form and translate what it holds; stops the page with one message if that cannot be done."""
    form_place, example_place, device_place = st.columns([10, 4, 2], vertical_alignment="bottom")
    with form_place, st.form("sentence", border=False):
        text_place, button_place = st.columns([6, 2], vertical_alignment="bottom")
        text = text_place.text_input(
            f"English sentence, up to {MAX_PIECES} pieces", key=state.TEXT,
            placeholder="Type an English sentence …",
        )
        button_place.form_submit_button("Translate", type="primary", width="stretch")
    with example_place:
        st.selectbox(
            "or an example", state.EXAMPLES, index=None, key="example", on_change=state.use_example,
            placeholder="Choose one …",
        )
    with device_place:
        device_choice()
    # Only now: whoever has chosen a device that fails needs the box to choose another.
    model = translator()
    try:
        trace = inference.translate(model, model.version, model.device, text or "")
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        st.stop()
    return Reading(model, trace)


def show_translation(reading: Reading, *, large: bool = False) -> None:
    """The translation, and how long both sentences are."""
    trace = reading.trace
    german = markdown(trace.target_text) or "*(nothing: the end symbol came first)*"
    source, target = len(trace.source_pieces) - 1, len(trace.predicted_pieces) - trace.complete
    if large:
        st.header(german, anchor=False)
    else:
        st.markdown(f"**German:** {german}")
    if large or not trace.complete:
        note = "" if trace.complete else " The limit on length ended the translation before its end symbol."
        st.caption(
            f"{source} pieces read, {target} written, by {reading.translator.parameters / 1e6:.0f} million parameters "
            f"on {reading.translator.device.upper()}.{note}"
        )
