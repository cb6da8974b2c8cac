"""Shows, step by step, how the language model continues a text: tokens read, token predicted, and other candidates."""

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.ui.decoding.component import draw_decoding
from pages.ui.decoding.payload import decoding_payload
from pages.ui.decoding.visited_translations import VisitedTranslation
from pages.ui.language_model.continuation import ENGLISH, show_written
from pages.ui.language_model.reading import read_beginning
from pages.ui.layout.roles import main_figure
from pages.ui.params.language_model import ContinuationParams
from pages.ui.state import session
from pages.ui.text.markup import markdown
from transformer.checkpoints.checkpoint import LanguageModel


def show_steps(loaded: LanguageModel) -> None:
    """Show the continuation of a text step by step, with controls for the decoding method."""
    with st.container(gap="xsmall"):
        reading = read_beginning(loaded, settings=False)
        show_written(reading)
    traced, params, choice, tokenizer = reading.traced, reading.params, reading.choice(), loaded.tokenizer
    ids = tuple(token.id for token in traced.translation.tokens)
    visited = VisitedTranslation(ids, traced.translation.text, traced.translation.log_prob, params)

    def message(request: dict[str, Any]) -> bytes:
        return decoding_payload(traced, [visited], params, tokenizer, request, (choice.layer, choice.head), ENGLISH)

    with main_figure(f"**Step by step:** {markdown(traced.translation.text)}"):
        draw_decoding(
            "lm_steps",
            traced,
            params,
            choice,
            tokenizer,
            lambda text: [token.id for token in tokenizer.encode(text, end=False)],
            message,
            store=session.store,
            restart=lambda: session.store(replace(ContinuationParams(), show=params.show)),
        )
    st.caption(
        "Each box shows one step: the token that was written, coloured by its probability from 0 (dark) to 1 (bright). "
        "The probabilities are always the model's own: temperature, top-k, top-p and banned tokens change which token "
        "is chosen, not these numbers."
    )
