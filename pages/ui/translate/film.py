"""Animation that follows one word through the model, as a component on the page and as an HTML file."""

from functools import partial
from typing import Any

import streamlit as st

from attention_atlas.browser.html_file import fill, template
from attention_atlas.browser.payload import sentence_id
from pages.ui.charts.downloads import save_button
from pages.ui.components.diagram import OpenedPage
from pages.ui.components.save_as import figure_component
from pages.ui.components.synced_state import synced_params
from pages.ui.heads.kinds import PAGES
from pages.ui.params.translate import FilmParams
from pages.ui.reading.sentence import FILM_ASKED, Reading
from pages.ui.state import session
from pages.ui.translate.frames import film_frames
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.values.trace import Kind

KEY = "film"
draw_film = figure_component("sentence_film/sentence_film")


def show_film(reading: Reading, word: int) -> OpenedPage:
    """Show the animation with a download button, and return the page that the user opens from the animation.

    Args:
        word: the source word to follow, as in `sentence_film`.
    """
    metrics: dict[Kind, HeadMetrics] = {kind: reading.metrics(kind) for kind in PAGES}
    message = {
        "id": sentence_id(reading.trace),
        "direction": reading.languages.source.direction,
        "frames": film_frames(
            reading.detailed(), reading.weights(), metrics, word, reading.languages, reading.tokenizer
        ),
    }
    params = FilmParams(min(session.params(FilmParams).frame, len(message["frames"])))
    request, store_frame = synced_params(KEY, params)
    opened = OpenedPage(KEY)
    # The button is above the animation, so that it stays in place although the frames differ in height.
    with st.container(horizontal=True, horizontal_alignment="right"):
        save_button(
            "Save the animation as one file, for offline use",
            partial(film_file, message, reading.trace.source_text),
            "film.html",
            key="film_file",
        )
    draw_film(
        key=KEY,
        width="stretch",
        on_params_change=store_frame,
        on_open_change=opened.note,
        data={**message, "play": st.session_state.pop(FILM_ASKED, False), "asked": request},
    )
    return opened


def film_file(message: dict[str, Any], title: str) -> str:
    """Return an HTML file with the animation, without links to pages."""
    frames = [{name: value for name, value in frame.items() if name != "link"} for frame in message["frames"]]
    request = {"number": 1, "params": {"frame": 1}}
    return fill(
        template("sentence_film/html_export", "<h1></h1>"),
        {**message, "frames": frames, "asked": request, "title": title},
    )
