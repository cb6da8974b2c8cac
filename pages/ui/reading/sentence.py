"""The sentence: typed or picked, translated, or answered by one line that says what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.ui.components.attention_browser import at_telling_head
from pages.ui.components.text_box import text_box
from pages.ui.heads.kinds import MAPS, HeadMaps
from pages.ui.params.attention import AttentionParams
from pages.ui.reading.model_picker import (
    chosen_languages,
    chosen_model,
    device_choice,
    examples,
    model_choice,
    several_models,
    translator,
)
from pages.ui.reading.target_language import kept_code, language_choice, text_of_box
from pages.ui.runs import inference
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from transformer.ablation.continuation import Continuation
from transformer.ablation.effect import Effect
from transformer.ablation.importance import MeasuredImportance
from transformer.ablation.removal import RemovalCurve
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.attribution.attribution import Attribution, Method, Target
from transformer.attribution.deletion import DeletionCurves
from transformer.attribution.direct_logits import DirectLogits
from transformer.config import TransformerConfig
from transformer.decoding.texts import MAX_PIECES
from transformer.errors import AtlasError, ServerError
from transformer.running.translator import Translator
from transformer.text.languages import Languages
from transformer.text.vocabulary import Vocabulary, split_code
from transformer.values.interventions import AS_TRAINED, DEFAULT_DRAWS, Interventions, Mode
from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights

# Sentences that are offered where nothing can be read.
OFFERED = 3
LESSONS = "pages/lessons.py"


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
    def config(self) -> TransformerConfig:
        return self.translator.config

    @property
    def tokenizer(self) -> Vocabulary:
        return self.translator.tokenizer

    @property
    def maps(self) -> HeadMaps:
        """The pages of the kinds of attention."""
        return MAPS

    @property
    def given(self) -> bool:
        """Whether the reader gave the translation."""
        return self.trace is not self.own

    @property
    def languages(self) -> Languages:
        """What the model reads, and what it writes, here."""
        code, _ = split_code(self.trace.source_text, self.translator.tokenizer.codes)
        return self.translator.languages.asked_for(code)

    @property
    def _target(self) -> str:
        """The translation that the reader gave; empty if there is none."""
        return self.trace.target_text if self.given else ""

    def metrics(self, kind: Kind) -> HeadMetrics:
        """What every head of a kind does with the sentence."""
        return inference.metrics(self.translator, self.trace.source_text, self._target, kind)

    def choice(self, kind: Kind) -> AttentionParams:
        """The head that is shown of a kind: the one that somebody chose, else the telling one of the sentence."""
        shape = self.trace.attention(kind).shape[:2]
        return at_telling_head(session.attention(kind), self.metrics(kind)).within(*shape)

    @property
    def request(self) -> tuple[Translator, str, str]:
        """What finds the trace again (`inference.trace`), for whoever should not keep it."""
        return self.translator, self.trace.source_text, self._target

    def detailed(self, interventions: Interventions = AS_TRAINED) -> Trace:
        """The trace with everything that was computed, by a run that may leave parts of the model out.

        A run without parts writes its own translation, unless the reader gave one.
        """
        return inference.detailed_trace(self.translator, self.trace.source_text, self._target, interventions)

    def weights(self) -> Weights:
        """The model's parameters."""
        return inference.weights(self.translator)

    def attribution(self, method: Method, *targets: Target, words: bool) -> Attribution:
        """What mattered for some targets, by one method; without targets, for every predicted piece."""
        return inference.attribution(
            self.translator, self.trace.source_text, self._target, method, targets, words
        )

    def deletion_curves(
        self, method: Method, explained: Target, columns: tuple[int, ...], *, words: bool
    ) -> DeletionCurves:
        """How fast a prediction falls when columns of the source go in the order of a method."""
        return inference.deletion_curves(
            self.translator, self.trace.source_text, self._target, method, explained, words, columns
        )

    def direct_logits(self, explained: Target) -> DirectLogits:
        """What every component of the decoder adds to a logit; for pre-norm models."""
        return inference.direct_logits(self.translator, self.trace.source_text, self._target, explained)

    def effect(self, interventions: Interventions, draws: int = DEFAULT_DRAWS) -> Effect:
        """The sentence with and without interventions."""
        return inference.effect(self.translator, self.trace.source_text, self._target, interventions, draws)

    def reread(self, interventions: Interventions) -> Trace:
        """The same translation, read by a changed model.

        Raises:
            AtlasError: the model or the sentence has no such part; the message says what to do.
        """
        return inference.reread(self.translator, self.trace.source_text, self._target, interventions)

    def changed_metrics(self, kind: Kind, interventions: Interventions) -> HeadMetrics:
        """What every head of a kind does in `reread`."""
        return inference.changed_metrics(self.translator, self.trace.source_text, self._target, interventions, kind)

    def continuation(self, interventions: Interventions, step: int | None) -> Continuation:
        """How a changed model writes the translation on from a step, or from the telling one.

        Raises: those of `reread`.
        """
        return inference.continuation(self.translator, self.trace.source_text, self._target, interventions, step)

    def importance(self, mode: Mode, seed: int = 0, draws: int = DEFAULT_DRAWS) -> MeasuredImportance:
        """What every head is worth to the translation."""
        return inference.importance(self.translator, self.trace.source_text, self._target, mode, seed, draws)

    def removal_curves(
        self, mode: Mode, orders: int, seed: int = 0, draws: int = DEFAULT_DRAWS
    ) -> tuple[RemovalCurve, ...]:
        """The translation while heads are removed: in the measured order, in the gradient's, and in random ones."""
        return inference.removal_curves(
            self.translator, self.trace.source_text, self._target, mode, seed, draws, orders
        )


def read_sentence(*, introduced: bool = False) -> Reading:
    """Draw the box and translate what was sent; stops the page with one message if that cannot be done.

    Args:
        introduced: say first what this is.
    """
    introduction = st.container() if introduced else None
    source = chosen_languages().source.name
    folder = chosen_model()
    offered, codes = examples(folder), folder.codes if folder else ()

    def read(typed: str) -> None:
        session.read_text(kept_code(typed, codes))

    def write_in() -> None:
        language_choice(codes)

    def pick() -> None:
        _example_choice(offered, codes)

    beside: dict[Callable[[], None], float] = {}
    if codes:
        beside[write_in] = 3.4
    if offered:
        beside[pick] = 2.8 if several_models() else 3.5
    if several_models():
        beside[model_choice] = 4.9
    typed_width = 8 if codes else 8.6 if several_models() else 10
    form_place, *places, device_place = st.columns(
        [typed_width, *beside.values(), 2.4 if codes else 2], vertical_alignment="bottom"
    )
    with form_place:
        text_box(
            "sentence", text_of_box(codes), read, label=f"{source} sentence, up to {MAX_PIECES} pieces",
            placeholder=f"Type a sentence in {source} …", button="Translate", primary=True,
            asked=session.box_request(), help=f"Piece: {explain('piece')}",
        )
    for place, draw in zip(places, beside, strict=True):
        with place:
            draw()
    with device_place:
        device_choice()
    # Only now: whoever has chosen a device that fails needs the box to choose another.
    model, text, target = translator(), session.text(), session.target()
    if introduction is not None:
        with introduction, st.container(horizontal=True, vertical_alignment="center", key="introduction"):
            with st.container(width="stretch"):
                st.markdown(
                    f"**See how a Transformer translates {source} into {chosen_languages().target.name}.** *Attention* "
                    "is how each word takes in what it needs from the others, some more than others. Type a sentence, "
                    "press *Translate*, then open any box of the drawing."
                )
            st.page_link(LESSONS, label="New to this? Take the lessons", icon=":material/school:")
    try:
        own = inference.trace(model, text)
    except ServerError:
        # Another sentence would not help.
        raise
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        _offer_sentences(offered, codes)
        raise PageEnd from None
    trace = own
    if target.strip():
        try:
            trace = inference.trace(model, text, target)
        except AtlasError as error:
            st.warning(markdown(str(error)), icon=":material/edit:")
    return Reading(model, own, trace)


def _example_choice(offered: Sequence[str], codes: Sequence[str]) -> None:

    def use() -> None:
        if st.session_state.example in offered:
            session.try_sentence(kept_code(st.session_state.example, codes))
        st.session_state.example = None

    st.selectbox(
        "or an example", offered, index=None, key="example", on_change=use, placeholder="Choose …",
    )


def _offer_sentences(offered: Sequence[str], codes: Sequence[str]) -> None:
    """Something to read, for whoever has nothing that can be read."""
    if not offered:
        return
    st.markdown("Or try one of these:")
    with st.container(horizontal=True):
        for number, sentence in enumerate(offered[:OFFERED]):
            st.button(
                sentence, key=f"try_{number}", on_click=session.try_sentence, args=(kept_code(sentence, codes),)
            )
