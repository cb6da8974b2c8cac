"""A text that the language model continues, with the continuation and the results of the model run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from pages.ui.components.attention_browser import at_clearest_head
from pages.ui.components.text_box import text_box
from pages.ui.heads.kinds import HeadMaps, KindPage
from pages.ui.language_model.settings import continuation_settings
from pages.ui.params.attention import AttentionParams
from pages.ui.params.language_model import ContinuationParams, LanguageModelParams, TextHeadParams
from pages.ui.runs.inference import CachedRuns
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.checkpoints.checkpoint import LanguageModel
from transformer.config import TransformerConfig
from transformer.errors import AtlasError
from transformer.language_modelling.runs import ContinuationMetricsRun, TextContinuationRun, UnmaskedRun
from transformer.language_modelling.tracing import max_tokens
from transformer.text.normalisation import replace_surrogates
from transformer.text.vocabulary import TextVocabulary
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Kind, Trace
from transformer.values.translation import TracedTranslation
from transformer.values.weights import Weights

PAGES: Mapping[Kind, KindPage] = {
    "decoder": KindPage("pages/language_model.py", "The language model", "every token looks back")
}
MAPS = HeadMaps(PAGES, TextHeadParams, lambda _: (replace(session.params(LanguageModelParams), part="continue"),))
# A text that a copying head can continue, because its last words have occurred before.
REPETITION = "She loves tea and he loves music. She loves tea and he"
BEGINNINGS = ("The old man went to the", "She said that she would never", "I was born in", REPETITION, "")
EMPTY_TEXT = "(empty: the model chooses the first word)"


@dataclass(frozen=True)
class LanguageReading:
    """The start of a text, and the model's continuation.

    Attributes:
        runs: the model's cached runs.
        text: the start of the text, as typed by the user.
        length: the maximum number of tokens that the model may write.
        params: the decoding settings, without values that are invalid for this model.
    """

    runs: CachedRuns
    text: str
    length: int
    params: ContinuationParams

    @property
    def traced(self) -> TracedTranslation:
        """The continuation, with all values that the model computed.

        Raises:
            AtlasError: the text is too long; the message says what to do.
        """
        return self.runs.get(self.run)

    @property
    def run(self) -> TextContinuationRun:
        params = self.params
        return TextContinuationRun(self.text, params.settings, self.length, params.forced, frozenset(params.suppressed))

    @property
    def details_run(self) -> TextContinuationRun:
        """The model run that continues the text and keeps all intermediate values."""
        return self.run

    @property
    def loaded(self) -> LanguageModel:
        return self.runs.model

    @property
    def trace(self) -> Trace:
        """The trace of the whole text, including the continuation."""
        return self.traced.trace

    def metrics(self, kind: Kind = "decoder") -> HeadMetrics:
        assert kind == "decoder", "a language model has only decoder self-attention"
        return self.runs.get(ContinuationMetricsRun(self.run))

    def choice(self, kind: Kind = "decoder") -> AttentionParams:
        """Return the head to show: the user's choice or, by default, the result of `clearest_head` for this text."""
        shape = self.trace.decoder.shape[:2]
        return at_clearest_head(session.attention(kind, TextHeadParams), self.trace, self.metrics(kind)).within(*shape)

    # The remaining members implement the protocol `HeadReading`.

    @property
    def config(self) -> TransformerConfig:
        return self.loaded.model.config

    @property
    def tokenizer(self) -> TextVocabulary:
        return self.loaded.tokenizer

    @property
    def languages(self) -> None:
        """None, because a language model does not translate."""

    @property
    def translator(self) -> None:
        """None, because a language model is not a translator."""

    @property
    def maps(self) -> HeadMaps:
        return MAPS

    def detailed(self, interventions: Interventions = AS_TRAINED) -> Trace:
        """Return the trace of the model run, or of a run without the mask if `interventions` switch the mask off."""
        return self.trace if interventions.decoder_mask else self.runs.get(UnmaskedRun(self.run))

    def weights(self) -> Weights:
        return self.runs.weights()


def read_beginning(loaded: LanguageModel, *, settings: bool = True) -> LanguageReading:
    """Show a text box, and return the text with a continuation. If the model cannot continue the text, show a message
    and end the page.

    Args:
        loaded: the language model.
        settings: whether to show the decoding settings.
    """
    asked = session.params(LanguageModelParams)
    box, example, *rest = st.columns([10.9, 3.3, 2.4] if settings else [10, 4], vertical_alignment="bottom")
    with box:
        text_box(
            "beginning",
            asked.text,
            store_text,
            label=f"Start of a text (up to {max_tokens(loaded)} tokens)",
            placeholder="Type the start of a text, or leave it empty …",
            button="Continue",
            primary=True,
            request=session.box_request(),
            help=f"Token: {explain('token')} The start symbol, which the model reads first, is not counted.",
        )
    example.selectbox(
        "or an example",
        BEGINNINGS,
        index=None,
        key="lm_example",
        on_change=_use_example,
        placeholder="Choose one …",
        format_func=lambda text: text or EMPTY_TEXT,
    )
    for place in rest:
        with place:
            continuation_settings()
    tokenizer = loaded.tokenizer
    params = session.params(ContinuationParams).within(tokenizer.size, tokenizer.symbols)
    reading = LanguageReading(CachedRuns(loaded), asked.text, asked.length, params)
    try:
        count = len(reading.traced.ranks)
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        raise PageEnd from None
    return replace(reading, params=replace(params, step=min(params.step, count - 1)))


def store_text(typed: str) -> None:
    """Callback: store a new text, and drop the forced and banned tokens and the pins, which belong to the old text."""
    session.update(LanguageModelParams, text=replace_surrogates(typed))
    session.store(session.params(ContinuationParams).for_another_beginning())
    session.store_attention(session.attention(of=TextHeadParams).unpinned())


def _use_example() -> None:
    chosen = st.session_state.lm_example
    if chosen in BEGINNINGS:
        store_text(chosen)
        session.refill_boxes()
    st.session_state.lm_example = None
