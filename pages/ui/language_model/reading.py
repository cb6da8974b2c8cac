"""A text that the language model has read, and what the parts of the page ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from pages.ui.components.attention_browser import at_telling_head
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
from transformer.language_modelling.tracing import most_pieces
from transformer.text.normalisation import valid
from transformer.text.vocabulary import TextVocabulary
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Kind, Trace
from transformer.values.translation import TracedTranslation
from transformer.values.weights import Weights

PAGES: Mapping[Kind, KindPage] = {
    "decoder": KindPage("pages/language_model.py", "The language model", "every piece looks back"),
}
MAPS = HeadMaps(
    PAGES, TextHeadParams, lambda _: (replace(session.params(LanguageModelParams), part="continue"),)
)
# Which can be continued by looking at what came after the same words before.
REPEATING = "She loves tea and he loves music. She loves tea and he"
BEGINNINGS = ("The old man went to the", "She said that she would never", "I was born in", REPEATING, "")
NOTHING = "(nothing: the model begins by itself)"


@dataclass(frozen=True)
class LanguageReading:
    """A beginning, and how the model goes on from it.

    Attributes:
        runs: of the model.
        text: the beginning, as it was typed.
        length: pieces that it may write.
        params: that decide how it goes on, without what does not exist.
    """

    runs: CachedRuns
    text: str
    length: int
    params: ContinuationParams

    @property
    def traced(self) -> TracedTranslation:
        """The continuation, with all that was computed for it.

        Raises:
            AtlasError: the beginning is too long; the message says what to do.
        """
        return self.runs.get(self.run)

    @property
    def run(self) -> TextContinuationRun:
        """What the continuation is the result of."""
        params = self.params
        return TextContinuationRun(
            self.text, params.settings, self.length, params.forced, frozenset(params.suppressed)
        )

    @property
    def loaded(self) -> LanguageModel:
        return self.runs.model

    @property
    def trace(self) -> Trace:
        """Of the model reading all of it."""
        return self.traced.trace

    def metrics(self, kind: Kind = "decoder") -> HeadMetrics:
        """What every head does with the text."""
        assert kind == "decoder", "a language model has no other kind"
        return self.runs.get(ContinuationMetricsRun(self.run))

    def choice(self, kind: Kind = "decoder") -> AttentionParams:
        """The head that is shown: the one that somebody chose, else the telling one of the text."""
        shape = self.trace.decoder.shape[:2]
        return at_telling_head(session.attention(kind, TextHeadParams), self.trace, self.metrics(kind)).within(*shape)

    # What `HeadReading` asks for besides.

    @property
    def config(self) -> TransformerConfig:
        return self.loaded.model.config

    @property
    def tokenizer(self) -> TextVocabulary:
        return self.loaded.tokenizer

    @property
    def languages(self) -> None:
        """It translates nothing."""

    @property
    def translator(self) -> None:
        """The same."""

    @property
    def maps(self) -> HeadMaps:
        """Its page."""
        return MAPS

    def detailed(self, interventions: Interventions = AS_TRAINED) -> Trace:
        """The trace, or that of the model without its mask."""
        return self.trace if interventions.decoder_mask else self.runs.get(UnmaskedRun(self.run))

    def weights(self) -> Weights:
        """The model's parameters."""
        return self.runs.weights()


def read_beginning(loaded: LanguageModel, *, settings: bool = True) -> LanguageReading:
    """Draw the box of the beginning and go on from it; stops the page with one message if that cannot be done.

    Args:
        settings: draw those of the method, too.
    """
    asked = session.params(LanguageModelParams)
    box, example, *rest = st.columns([10.9, 3.3, 2.4] if settings else [10, 4], vertical_alignment="bottom")
    with box:
        text_box(
            "beginning", asked.text, go_on_from, label=f"A beginning, up to {most_pieces(loaded)} pieces",
            placeholder="Type a beginning, or nothing …", button="Go on", primary=True, asked=session.box_request(),
            help=f"Piece: {explain('piece')} The start symbol, which the model reads first, is not counted.",
        )
    example.selectbox(
        "or an example", BEGINNINGS, index=None, key="lm_example", on_change=_use_example, placeholder="Choose one …",
        format_func=lambda text: text or NOTHING,
    )
    for place in rest:
        with place:
            continuation_settings()
    tokenizer = loaded.tokenizer
    params = session.params(ContinuationParams).within(tokenizer.size, tokenizer.symbols)
    reading = LanguageReading(CachedRuns(loaded), asked.text, asked.length, params)
    try:
        written = len(reading.traced.ranks)
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        raise PageEnd from None
    return replace(reading, params=replace(params, step=min(params.step, written - 1)))


def go_on_from(typed: str) -> None:
    """Callback of the box: what was forced, and what is pinned, belongs to the beginning before."""
    session.update(LanguageModelParams, text=valid(typed))
    session.store(session.params(ContinuationParams).for_another_beginning())
    session.store_attention(session.attention(of=TextHeadParams).unpinned())


def _use_example() -> None:
    chosen = st.session_state.lm_example
    if chosen in BEGINNINGS:
        go_on_from(chosen)
        session.refill_boxes()
    st.session_state.lm_example = None
