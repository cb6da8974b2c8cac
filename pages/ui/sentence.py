"""The sentence: typed or picked, translated, or answered by one line that says what is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.ui import inference, state
from pages.ui.plain import BYTE, markdown
from transformer.analysis.heads import HeadMetrics, head_metrics
from transformer.devices import available_devices
from transformer.errors import AtlasError
from transformer.options import AS_TRAINED, RunOptions
from transformer.trace import Kind, Trace
from transformer.translator import MAX_PIECES, Translator
from transformer.weights import Weights


@dataclass(frozen=True)
class Reading:
    """A sentence that was read, and who read it.

    Attributes:
        translator: the model.
        own: its own translation.
        trace: what is looked at: its own translation being read, or the one that the reader gave.
    """

    translator: Translator
    own: Trace
    trace: Trace

    @property
    def given(self) -> bool:
        """Whether the reader gave the translation."""
        return self.trace is not self.own

    def metrics(self, kind: Kind) -> HeadMetrics:
        """What every head of a kind does with the sentence."""
        return head_metrics(self.trace, kind, self.translator.tokenizer.scores)

    def detailed(self, options: RunOptions = AS_TRAINED) -> Trace:
        """The trace with everything that was computed, by a run that may leave parts of the model out.

        A run without parts writes its own translation, unless the reader gave one.
        """
        model, target = self.translator, self.trace.target_text if self.given else ""
        return inference.detailed(model, model.version, model.device, self.trace.source_text, target, options)

    def weights(self) -> Weights:
        """The model's parameters."""
        model = self.translator
        return inference.weights(model, model.version, model.device)


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
        own = inference.translate(model, model.version, model.device, text or "")
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        st.stop()
    target = st.session_state[state.TARGET]
    trace = own
    if target.strip():
        try:
            trace = inference.read(model, model.version, model.device, text, target)
        except AtlasError as error:
            st.warning(markdown(str(error)), icon=":material/edit:")
    return Reading(model, own, trace)


def show_translation(reading: Reading, *, large: bool = False, label: str = "German") -> None:
    """The translation, how long both sentences are, and a way to have another translation read.

    Args:
        reading: of which the model's own translation is shown, and the given one if there is one.
        large: as the page's headline, with what it took.
        label: what the model's own is called where it is no headline.
    """
    words, other = st.columns([7, 3], vertical_alignment="center")
    with words:
        _show_words(reading.own, large=large, label=label)
    another = other.popover("Another translation", icon=":material/compare_arrows:", width="stretch")
    with another, st.form("another", border=False):
        st.text_input(
            "Why not this one?", key=state.TARGET, placeholder="Type a German translation …",
            help="The model reads it piece by piece as if it had written it itself (teacher forcing).",
        )
        st.form_submit_button("Let the model read it")
    if reading.given:
        read, back = st.columns([7, 3], vertical_alignment="center")
        read.markdown(
            f"**Read instead:** {markdown(reading.trace.target_text)}  \n{likelihood(reading.trace)}; "
            f"the model's own: {likelihood(reading.own)}."
        )
        back.button("Back to the model's own", on_click=state.read_own, width="stretch")
    remarks = [*([_effort(reading)] if large else []), *_warnings(reading.own)]
    if remarks:
        st.caption(" ".join(remarks))


def _effort(reading: Reading) -> str:
    own, model = reading.own, reading.translator
    source, target = len(own.source_pieces) - 1, len(own.predicted_pieces) - own.complete
    return (
        f"{source} {'piece' if source == 1 else 'pieces'} read, {target} written, by "
        f"{model.parameters / 1e6:.1f} million parameters on {model.device.upper()}. So small a model is good for "
        "plain everyday sentences at best; rare words, names and numbers often go wrong."
    )


def _warnings(own: Trace) -> list[str]:
    """What a reader should know of this translation."""
    warnings = []
    if not own.complete:
        warnings.append("The limit on length ended the translation before its end symbol.")
    strange = dict.fromkeys(
        own.source_text[slice(*piece.span)] for piece in own.source_pieces if piece.span and BYTE.fullmatch(piece.text)
    )
    if strange:
        warnings.append(f"It has no piece for {markdown(' '.join(strange))}: it reads the bytes, and guesses.")
    return warnings


def likelihood(trace: Trace) -> str:
    """How likely the model finds a translation."""
    total, pieces = float(trace.log_probs.sum()), len(trace.log_probs)
    return f"log-probability {total:.2f} nats, {total / pieces:.2f} a piece"


def _show_words(trace: Trace, *, large: bool, label: str) -> None:
    german = markdown(trace.target_text) or "*(nothing: the end symbol came first)*"
    if large:
        st.header(german, anchor=False)
    else:
        st.markdown(f"**{label}:** {german}")
