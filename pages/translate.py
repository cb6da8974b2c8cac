"""The start page: a sentence, its translation, and a diagram of the Transformer that links to all other pages."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.components.attention_browser import show_small_maps
from pages.ui.components.diagram import drawing
from pages.ui.heads.kinds import PAGES
from pages.ui.heads.prose import prose
from pages.ui.layout.roles import main_figure
from pages.ui.params.translate import FilmParams
from pages.ui.reading.overview import overview
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.shell.router import open_page
from pages.ui.state import session
from pages.ui.text.captions import describe_most_focused_head
from pages.ui.text.markup import markdown
from pages.ui.translate.film import show_film

reading = read_sentence(introduced=True)
show_translation(reading, large=True)
config = reading.translator.config
with main_figure():
    boxes, told = overview(reading)
    if session.params(FilmParams).frame:
        opened = show_film(reading, told.opens)
    else:
        opened = drawing(
            reading.trace.source_text,
            reading.trace.target_text,
            reading.languages,
            boxes,
            {"encoder": config.encoder_layers, "decoder": config.decoder_layers},
            norm=config.norm,
            story=told,
        )
open_page(*opened.page())
st.subheader("All heads at a glance", anchor=False)
st.caption(
    "Each small picture is one attention head. Each row is a token that looks; each column is a token it looks at, in "
    "reading order from the top left. The brighter a cell, the more attention, from 0 to 1. Grey cells are masked: the "
    "decoder may not look ahead."
)
for column, (kind, page) in zip(st.columns(3, gap="medium"), PAGES.items(), strict=True):
    with column:
        st.page_link(page.path, label=f"**{page.title}**", icon=":material/open_in_full:")
        st.caption(f"{markdown(page.subtitle(reading.languages))}. Choose a head to enlarge it.")
        metrics = reading.metrics(kind)
        if show_small_maps(reading.trace, metrics):
            st.switch_page(page.path)
        prose(f"{kind}_sharpest", describe_most_focused_head(metrics))
