"""Lets the user choose whose heads a page shows: the translator's, a language model's, or those in a file."""

import streamlit as st

from attention_atlas.browser.payload import AlsoNamed
from pages.ui.compare_heads.two_heads import ComparedModel, compared_translator
from pages.ui.heads.head_reading import HeadReading, MapReading
from pages.ui.language_model.continuation import show_text
from pages.ui.language_model.copying_heads import copying_names
from pages.ui.language_model.model import language_model
from pages.ui.language_model.reading import PAGES, read_beginning
from pages.ui.params.compare_heads import CompareParams
from pages.ui.params.language_model import FIRST, SECOND, LanguageModelParams
from pages.ui.params.subject import LANGUAGE_MODEL, OWN, TRANSLATOR, SubjectParams
from pages.ui.reading.model_picker import translator
from pages.ui.reading.pairs import Pair
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.runs.inference import CachedRuns
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import preset, setting
from pages.ui.your_own_attention.reading import read_own
from transformer.checkpoints.available_models import SHIPPED_LANGUAGE_MODEL, language_model_folders
from transformer.language_modelling.runs import TextScoreRun
from transformer.values.trace import Trace

PAIRS = (
    Pair("cat / mat", FIRST, SECOND),
    Pair("key / keys", "The key to the old boxes is here.", "The keys to the old boxes are here."),
    Pair("again / not again", "One two three four, one two three four.", "One two three four, five six seven eight."),
)
LINKS = (
    ("Compare this model's heads", "compare_heads", ":material/grid_view:"),
    ("Inside a layer", "inside_a_layer", ":material/layers:"),
)
WIDTH = 160
# In the model select box, the value that stands for the translator. All values except TRANSLATOR_OPTION and OWN_OPTION
# are names of model folders.
TRANSLATOR_OPTION = ""
# In the model select box, the value for attention from a file. It cannot be a folder name, because it has a slash.
OWN_OPTION = "/own"


def is_language_model() -> bool:
    return session.params(SubjectParams).subject == LANGUAGE_MODEL


def is_own_attention() -> bool:
    """Return whether the page shows attention from the user's own file."""
    return session.params(SubjectParams).subject == OWN


def subject_choice(page: str) -> None:
    """Show a select box for the model: the translator, a language model or, on "Compare heads", attention from a file.

    Args:
        page: the prefix of the widget's key, which also identifies the page.
    """
    key = f"{page}subject"
    folders = list(language_model_folders())
    name = session.params(LanguageModelParams).model
    own_options = [OWN_OPTION] if page == CompareParams.PREFIX else []
    option = OWN_OPTION if own_options and is_own_attention() else TRANSLATOR_OPTION
    if is_language_model():
        option = name if name in folders else next(iter(folders), LANGUAGE_MODEL)

    def choose() -> None:
        picked = st.session_state[key]
        subject = {TRANSLATOR_OPTION: TRANSLATOR, OWN_OPTION: OWN}.get(picked, LANGUAGE_MODEL)
        session.update(SubjectParams, subject=subject)
        if picked in folders:
            session.update(LanguageModelParams, model=picked)

    st.selectbox(
        "Whose heads",
        [TRANSLATOR_OPTION, *(folders or [LANGUAGE_MODEL]), *own_options],
        key=preset(key, option),
        on_change=choose,
        format_func=_title,
        label_visibility="collapsed",
        width=WIDTH,
    )


def show_head_links() -> None:
    """On the "Language model" page, show buttons that open pages about the language model's heads."""
    with st.container(horizontal=True):
        for label, page, icon in LINKS:
            if st.button(label, key=f"lm_{page}", icon=icon, **setting(SubjectParams, subject=LANGUAGE_MODEL)):
                st.switch_page(f"pages/{page}.py")


def read_subject() -> HeadReading:
    """Show the chosen model's text box, run the model on the text, and return the result. If the run fails, show a
    message and stop running the page.
    """
    if not is_language_model():
        reading = read_sentence()
        show_translation(reading)
        return reading
    reading = read_beginning(language_model(), settings=False)
    session.set_quoted_text(f"Text: {reading.trace.text}")
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch", gap="xxsmall"):
            show_text(reading)
        st.page_link(PAGES["decoder"].path, label="Language model page", icon=":material/notes:")
    return reading


def copying_head_names() -> AlsoNamed:
    """Return additional names for a language model's heads, based on how they attend when the model reads random
    patterns; empty for any other subject.
    """
    return copying_names(language_model()) if is_language_model() else {}


def read_maps() -> MapReading:
    """Return the attention maps in the user's file, or those of the chosen model on the user's text."""
    return read_own() if is_own_attention() else read_subject()


def compared_subject() -> ComparedModel:
    """Return the chosen model for the part "A vs. B". For attention from a file, show a message and end the page."""
    if is_own_attention():
        st.info(
            "“A vs. B” needs a model that reads two texts, but a file contains the attention for only one text. Choose "
            "a model instead."
        )
        raise PageEnd
    if not is_language_model():
        return compared_translator(translator())
    loaded = language_model()

    def read(text: str) -> Trace:
        return CachedRuns(loaded).get(TextScoreRun(text))[1]

    return ComparedModel(
        loaded.model.config,
        ("decoder",),
        ("text_a", "text_b"),
        read,
        "text",
        session.params(LanguageModelParams).text,
        PAIRS,
    )


def _title(name: str) -> str:
    if name == TRANSLATOR_OPTION:
        return "Translator"
    if name == OWN_OPTION:
        return "Your own attention"
    shipped = name in (SHIPPED_LANGUAGE_MODEL, LANGUAGE_MODEL)
    return "Language model" if shipped else f"Language model: {name}"
