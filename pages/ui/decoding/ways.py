"""Ways of decoding the same sentence, side by side."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.ui import inference, state
from pages.ui.decoding.course import Course
from pages.ui.sentence import Reading
from transformer.road import Found, Way

SAMPLES = 3
# Pixels: from twice the usual height on a long translation wraps.
ROW_HEIGHT = 72


def compared(reading: Reading) -> None:
    """Draw greedy decoding, beam search and three samples of the sentence, in a part that is computed once opened."""
    part = st.expander("Ways compared: greedy, beam, three samples", key="ways", on_change="rerun")
    if not part.open:
        return
    course, model = state.own(Course), reading.translator
    ways = {
        "greedy": Way(),
        f"beam {course.size}": Way("beam", size=course.size, alpha=course.alpha),
        **{
            f"sample, seed {course.seed + number}": Way(
                "sample", temperature=course.temperature, top_k=course.top_k, top_p=course.top_p,
                seed=course.seed + number,
            )
            for number in range(SAMPLES)
        },
    }
    with part:
        found = {
            name: inference.found(model, model.version, model.device, reading.trace.source_text, way)
            for name, way in ways.items()
        }
        st.dataframe(
            comparison(found), hide_index=True, row_height=ROW_HEIGHT,
            column_config={
                "way": st.column_config.TextColumn(width=110),
                "German": st.column_config.TextColumn(width=380),
                "log-probability": st.column_config.NumberColumn(format="%.2f", help="nats"),
                "a piece": st.column_config.NumberColumn(format="%.2f", help="log-probability over pieces, nats"),
                "ms": st.column_config.NumberColumn(format="%.0f", help="time of the decoder's search, milliseconds"),
            },
        )
        st.caption(
            f"The settings are those above: length penalty {course.alpha:g}, temperature {course.temperature:g}. "
            "Log-probability is what the model gives the whole translation, the end symbol included; beam search looks "
            "for a high one, a sample does not. The time is of the search alone, without its attention, as measured "
            "when it ran."
        )


def comparison(found: dict[str, Found]) -> pd.DataFrame:
    """A row a way."""
    return pd.DataFrame([
        {
            "way": name, "German": each.text, "log-probability": each.log_prob,
            "a piece": each.log_prob / len(each.pieces), "pieces": len(each.pieces), "ms": 1000 * each.seconds,
        }
        for name, each in found.items()
    ])
