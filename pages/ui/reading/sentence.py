"""The sentence form: the user types or picks a sentence, and the chosen model translates it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from pages.ui.components.attention_browser import at_clearest_head
from pages.ui.components.text_box import text_box
from pages.ui.heads.kinds import MAPS, HeadMaps
from pages.ui.params.attention import AttentionParams
from pages.ui.params.translate import FilmParams
from pages.ui.reading.model_picker import (
    chosen_languages,
    chosen_model,
    examples,
    is_shipped,
    show_model_menu,
    translator,
)
from pages.ui.reading.my_sentences import ask_for_list, my_sentences, sentence_stepper
from pages.ui.reading.target_language import kept_code, language_choice, text_of_box
from pages.ui.runs.inference import CachedRuns
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.hints import unknown_characters, unusual_spelling
from pages.ui.text.markup import markdown
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.config import TransformerConfig
from transformer.decoding.texts import MAX_TOKENS
from transformer.errors import AtlasError, ServerError
from transformer.files.paths import MODEL
from transformer.running.runs.metrics import MetricsRun
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.text.languages import LANGUAGES, Languages
from transformer.text.vocabulary import Vocabulary, split_code
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights

# Maximum number of sentences to suggest if the user's text cannot be translated.
MAX_OFFERED = 3
# The last entry in the list of examples, which opens the dialog for the user's own sentences.
OWN_LIST = "My sentences …"
# Session-state key that is set when the user opens the animation.
FILM_ASKED = "_film_asked"
# The estimate is for ordinary English and the built-in model's tokenizer.
ABOUT_WORDS = ", about 100 words"
# Known weaknesses of the built-in model.
MODEL_LIMITS = " This small model handles everyday sentences; rare words, names and numbers often go wrong."


@dataclass(frozen=True)
class Reading:
    """A sentence that a model has read, with access to further runs of the model.

    Attributes:
        runs: the model's runs.
        own: the trace of the model's own translation.
        trace: the trace to show: that of the user's translation if there is one, otherwise `own`.
    """

    runs: CachedRuns
    own: Trace
    trace: Trace

    @property
    def translator(self) -> Translator:
        return self.runs.model

    @property
    def config(self) -> TransformerConfig:
        return self.runs.config

    @property
    def tokenizer(self) -> Vocabulary:
        return self.runs.tokenizer

    @property
    def maps(self) -> HeadMaps:
        """The pages that show the translator's attention maps."""
        return MAPS

    @property
    def given(self) -> bool:
        """Whether `trace` belongs to a translation that the user entered."""
        return self.trace is not self.own

    @property
    def languages(self) -> Languages:
        """The languages of the sentence and its translation; language codes in the sentence override the defaults."""
        code, _ = split_code(self.trace.source_text, self.tokenizer.codes)
        return self.translator.languages.for_codes(code)

    @property
    def run(self) -> TraceRun:
        """The model run that produces `trace`."""
        return TraceRun(self.trace.source_text, self.trace.target_text if self.given else None)

    @property
    def details_run(self) -> TraceRun:
        """The model run that produces `trace` with all intermediate values."""
        return replace(self.run, details=True)

    def metrics(self, kind: Kind) -> HeadMetrics:
        """Return the head metrics of an attention kind, measured on the sentence."""
        return self.runs.get(MetricsRun(self.run, kind))

    def choice(self, kind: Kind) -> AttentionParams:
        """Return the parameters of the head to show: the user's choice, or else the kind's most informative head."""
        shape = self.trace.attention(kind).shape[:2]
        return at_clearest_head(session.attention(kind), self.trace, self.metrics(kind)).within(*shape)

    def detailed(self, interventions: Interventions = AS_TRAINED) -> Trace:
        """Return the trace with all intermediate values, optionally from a run with interventions.

        With interventions, the model writes a new translation, unless the user has entered one.
        """
        return self.runs.get(replace(self.run, details=True, interventions=interventions))

    def weights(self) -> Weights:
        """Return the model's parameters."""
        return self.runs.weights()


def read_sentence(*, introduced: bool = False) -> Reading:
    """Show the sentence form, translate the sentence, and warn about possible errors in the translation.

    If the sentence cannot be translated, the page ends with an error message.

    Args:
        introduced: whether to show an introduction above the form.
    """
    introduction = st.container() if introduced else None
    source = chosen_languages().source.name
    folder = chosen_model()
    offered, codes = examples(folder), folder.codes if folder else ()

    def read(typed: str) -> None:
        session.read_text(kept_code(typed, codes))

    def write_in() -> None:
        language_choice(codes, folder.languages if folder else LANGUAGES)

    def pick() -> None:
        _show_examples(offered, codes)

    beside: dict[Callable[[], None], float] = {}
    if codes:
        beside[write_in] = 3.4
    beside[pick] = 2.0
    beside[show_model_menu] = 1.7
    typed_width = 8 if codes else 10
    form_place, *places = st.columns([typed_width, *beside.values()], vertical_alignment="bottom")
    limit = f"up to {MAX_TOKENS} tokens{ABOUT_WORDS if folder is None or folder.path == MODEL else ''}"
    with form_place:
        text_box(
            "sentence",
            text_of_box(codes),
            read,
            label=f"{source} sentence ({limit})",
            placeholder=f"Type a sentence in {source} …",
            button="Translate",
            primary=True,
            request=session.box_request(),
            help=f"Token: {explain('token')}",
        )
    for place, draw in zip(places, beside, strict=True):
        with place:
            draw()
    # Load the model after showing the form, because the user needs the form to choose another device if loading fails.
    model, text, target = translator(), session.text(), session.target()
    runs = CachedRuns(model)
    if introduction is not None:
        with introduction, st.container(horizontal=True, vertical_alignment="center", key="introduction"):
            with st.container(width="stretch"):
                # An open film replaces the words that the prompt below refers to.
                is_film_open = bool(session.params(FilmParams).frame)
                choose = "" if is_film_open else " **Choose a word below to see which words it looks at.**"
                st.markdown(
                    f"**See how a Transformer translates {source} into {chosen_languages().target.name}.** *Attention* "
                    f"is how each word gathers information from the others.{choose}"
                    + (MODEL_LIMITS if is_shipped(model) else "")
                )
            st.button(
                "New to this? Watch a 1-minute film",
                icon=":material/play_circle:",
                key="film_button",
                on_click=_ask_for_film,
            )
    try:
        own = runs.get(TraceRun(text))
    except ServerError:
        # Suggesting other sentences would not help, because they would fail too.
        raise
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        _offer_sentences(offered, codes)
        raise PageEnd from None
    trace = own
    if target.strip():
        try:
            trace = runs.get(TraceRun(text, target))
        except AtlasError as error:
            st.warning(markdown(str(error)), icon=":material/edit:")
    reading = Reading(runs, own, trace)
    # Show warnings above the results that they concern. The container exists even without warnings, so that the
    # elements below it keep their identity and the keyboard focus.
    with st.container():
        if warnings := _warnings(reading):
            st.warning("  \n".join(warnings), icon=":material/warning:")
    return reading


def _ask_for_film() -> None:
    session.update(FilmParams, frame=1)
    st.session_state[FILM_ASKED] = True


def _warnings(reading: Reading) -> list[str]:
    """Return Markdown warnings about possible errors in the model's own translation."""
    own, warnings = reading.own, []
    if is_shipped(reading.translator):
        warnings += unusual_spelling(own.source_text)
    # Give only one of these warnings: a text in another script would cause both, because most characters are unknown.
    warnings = warnings or unknown_characters(own.source_text, own.source_tokens, own.target_text)
    codes = reading.translator.tokenizer.codes
    # A model that also has codes for source languages ("<<eng>>") has default languages, so it needs no warning.
    if codes and codes[0].startswith(">") and own.source_tokens[0].role != "language":
        warnings.append(
            "This model can translate into several languages. Choose one beside the sentence; otherwise, the model "
            "guesses the language."
        )
    if not own.complete:
        warnings.append("The translation reached the length limit before it was finished.")
    return warnings


def _show_examples(offered: Sequence[str], codes: Sequence[str]) -> None:
    """Show the example sentences, or buttons that step through the user's own list if there is one."""

    def use() -> None:
        if st.session_state.example in offered:
            session.try_sentence(kept_code(st.session_state.example, codes))
        elif st.session_state.example == OWN_LIST:
            ask_for_list()
        st.session_state.example = None

    with st.container(gap=None):
        if not my_sentences(codes):
            st.selectbox(
                "or an example" if offered else "or your own list",
                [*offered, OWN_LIST],
                index=None,
                key="example",
                on_change=use,
                placeholder="Choose …",
            )
        sentence_stepper(codes)


def _offer_sentences(offered: Sequence[str], codes: Sequence[str]) -> None:
    if not offered:
        return
    st.markdown("Or try one of these:")
    with st.container(horizontal=True):
        for number, sentence in enumerate(offered[:MAX_OFFERED]):
            st.button(sentence, key=f"try_{number}", on_click=session.try_sentence, args=(kept_code(sentence, codes),))
