"""The gallery page: heads whose behaviour can be described in one sentence."""

from pages.ui.runs.page_end import PageEnd
from pages.ui.shell.router import ensure_router

ensure_router()

from collections.abc import Iterable

import streamlit as st

from pages.ui.gallery.exhibits import show_exhibits
from pages.ui.measurements.local_measurement import model_record, offer_measurement
from pages.ui.measurements.recordings import GALLERY
from pages.ui.reading.model_picker import show_model_menu, translator
from pages.ui.text.glossary import explain
from transformer.analysis.heads.gallery import Gallery, gallery_of
from transformer.running.translator import Translator


def find_heads(model: Translator, sentences: Iterable[str]) -> Gallery:
    return gallery_of(map(model.trace, sentences), model.version, model.languages)


model = translator()
gallery = model_record(GALLERY, model)
with st.container(width=320):
    show_model_menu()
if gallery is None:
    st.markdown(
        "A program can find out what individual heads of this model do by running the model on many sentences. This "
        "page then shows each head with the sentences that illustrate it best."
    )
    offer_measurement(
        GALLERY, model, find_heads, label="Find the heads", missing="The program has not been run on this model yet."
    )
    raise PageEnd
st.markdown(
    "This page shows what individual heads do. The heads were not picked by hand: a program found them by running the "
    f"model on {gallery.sentences} sentences. Each head is shown with the sentences that illustrate it best. The "
    "brighter a word, the more of the head's attention it gets. **Click a sentence to open the head on it.**",
    help=explain("head", "attention weight", "layer"),
)
show_exhibits(gallery, model)
