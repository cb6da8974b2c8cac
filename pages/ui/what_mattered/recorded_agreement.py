"""Shows how well the attribution methods agree over many sentences, as measured in advance or on request."""

import altair as alt
import pandas as pd
import streamlit as st

from pages.ui.charts.tables import show_numbers
from pages.ui.components.save_as import show_altair
from pages.ui.measurements.local_measurement import model_record, offer_measurement
from pages.ui.measurements.recordings import AGREEMENT
from pages.ui.runs.inference import LONG_RUNS
from pages.ui.text.number_format import typeset
from pages.ui.what_mattered.methods import title
from pages.ui.what_mattered.square import pair_columns, square_chart
from transformer.measurements.agreement import AgreementStatistics, agreement_statistics
from transformer.running.translator import Translator


def show_recorded_agreement(translator: Translator) -> None:
    """Show the mean agreement for every pair of methods, or offer to measure it if there is no measurement."""
    st.subheader("Do the methods agree over many sentences?", anchor=False)
    recording = AGREEMENT.beside(translator)
    recorded = model_record(AGREEMENT, translator)
    if recorded is None:
        offer_measurement(
            AGREEMENT,
            translator,
            agreement_statistics,
            label="Measure over many sentences",
            turns=LONG_RUNS,
            missing="The agreement of the methods over many sentences has not been measured for this model. In the "
            "measurement, every method explains one word of each sentence's translation.",
        )
        return
    table = recorded_table(recorded)
    square, words = st.columns([6, 5], gap="large")
    with square:
        show_altair(
            square_chart(
                recorded.methods,
                table,
                [
                    alt.Tooltip("from:Q", format=".2f"),
                    alt.Tooltip("to:Q", format=".2f"),
                    alt.Tooltip("same first:Q", format=".0%"),
                ],
            ),
            key="mattered_many",
            sentence="",
            alt="Mean Kendall's tau for every pair of methods over many sentences; the table has the numbers.",
        )
    with words:
        st.markdown(describe_recorded_agreement(recorded))
        st.caption(
            f"From the model's own translation of each of {recorded.sentences} sentences, one word is drawn at random. "
            f"To explain this word, every method ranks the {translator.languages.source.name} words of the sentence "
            f"({recorded.words:.1f} on average). Each cell shows the mean of Kendall's tau; the cell is grey if the "
            f"mean's 95% interval (bootstrap over sentences) includes 0. Computed by `{recording.command}`."
        )
        show_numbers(table.drop(columns=["row", "column"]), "mattered_many_numbers", digits=2)


def recorded_table(recorded: AgreementStatistics) -> pd.DataFrame:
    """Return a table with one row per pair of methods.

    Columns include the mean tau with its 95% interval, and how often the two methods rank the same word first.
    """
    low, high = recorded.tau.low.ravel(), recorded.tau.high.ravel()
    return pd.DataFrame(
        {
            **pair_columns(recorded.methods),
            "tau": recorded.tau.mean.ravel(),
            "from": low,
            "to": high,
            "beyond chance": (low > 0) | (high < 0),
            "same first": recorded.same_first.mean.ravel(),
        }
    )


def describe_recorded_agreement(recorded: AgreementStatistics) -> str:
    """Return Markdown that names the methods that agree most and least with erasure, and warns against misreadings."""
    tau, first, methods = recorded.tau, recorded.same_first, recorded.methods
    erasure = methods.index("erasure")
    others = [row for row in range(len(methods)) if row != erasure]
    near, far = (pick(others, key=lambda row: tau.mean[row, erasure]) for pick in (max, min))
    apart = tau.low[near, erasure] > tau.high[far, erasure]
    weights = methods.index("weights")
    return (
        "Erasure measures the effect of each word directly. Closest to the ranking by erasure is "
        f"**{title(methods[near])}**: tau {_with_interval(recorded, near, erasure)}. Farthest from it is "
        f"**{title(methods[far])}**: {_with_interval(recorded, far, erasure)}. The two intervals "
        + ("do not overlap" if apart else "overlap, so it is uncertain which of the two methods is closer")
        + ".\n\nAttention "
        f"weights and erasure put the same word first in **{first.mean[weights, erasure]:.0%}** of the sentences "
        f"({first.low[weights, erasure]:.0%} to {first.high[weights, erasure]:.0%}).\n\n**What you may not "
        "conclude:** that a method is right because it agrees well with other methods. The methods built from "
        "attention share their ingredients, and erasure answers only one of several questions."
    )


def _with_interval(recorded: AgreementStatistics, row: int, column: int) -> str:
    tau = recorded.tau
    return f"{typeset(tau.mean[row, column])} ({typeset(tau.low[row, column])} to {typeset(tau.high[row, column])})"
