"""Compares, step by step, how much the prediction depends on the source and on the translation written so far."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.token_labels import token_label
from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import AXIS, label_positions, labelled_axis
from pages.ui.charts.palette import PALETTE
from pages.ui.charts.series import series_colour
from pages.ui.charts.tables import show_numbers
from pages.ui.components.experiment import embed_experiment
from pages.ui.components.save_as import show_altair
from pages.ui.layout.roles import main_figure
from pages.ui.params.decoding import DecodingParams
from pages.ui.params.what_mattered import MatteredParams
from pages.ui.reading.sentence import Reading
from pages.ui.runs.inference import CachedRuns
from pages.ui.state import session
from pages.ui.text.markup import markdown
from pages.ui.what_mattered.export import save_buttons
from pages.ui.what_mattered.methods import title
from pages.ui.what_mattered.question import is_long
from pages.ui.what_mattered.words import show_slow_choice
from transformer.attribution.attribution import Attribution, Method
from transformer.errors import AtlasError
from transformer.running.runs.attribution import AttributionRun
from transformer.running.runs.trace import TraceRun
from transformer.running.runs.translation import DecodingRun
from transformer.text.languages import LANGUAGES, Languages
from transformer.values.trace import Trace

# Methods that get a line in the chart. They score the source and the translation on one scale. So does rollout, but it
# has no line: it counts the residual connection as half of each layer, so its source share is the same at every step.
METHODS_SHOWN: tuple[Method, ...] = ("frozen_gradient", "alti", "erasure")
# Beginnings of a German translation that are wrong for most sentences.
BEGINNINGS = ("Ich habe", "Die Musik", "Am Montag", "Das Parlament")
BEGINNING, PROBLEM = "mattered_beginning", "_mattered_beginning_problem"
# Below this source share, a step depends more on the translation so far than on the source.
HALF = 0.5


def show_sides(reading: Reading) -> None:
    """Show the source's share of the scores at every step, and controls that force the translation to begin wrongly."""
    show_slow_choice(reading)
    later = is_long(reading.trace) and not session.params(MatteredParams).slow
    methods = [method for method in METHODS_SHOWN if not (later and method == "erasure")]
    runs = {method: AttributionRun(reading.run, method) for method in methods}
    experiment, attributions = embed_experiment(reading.runs, **runs), [*map(reading.runs.get, runs.values())]
    source, target = (language.name for language in reading.languages)
    table = share_table(reading.trace, attributions)
    st.markdown(describe_sides(reading.trace, attributions, reading.languages))
    shares = attributions[0].source_share()
    lowest = int(np.nanargmin(shares))
    with main_figure(
        f"**{source} or {target}?** {markdown(reading.trace.source_text)}",
        f"Lowest {source} share: {shares[lowest]:.0%}, at step {lowest + 1}, where the model writes "
        f"“{markdown(_token(reading.trace, lowest))}”",
    ):
        show_altair(
            share_chart(reading.trace, table, source),
            key="mattered_sides",
            alt=f"One line per method shows what share of each prediction comes from the {source} sentence. The table "
            "has the numbers.",
        )
    st.caption(
        f"The lines show what share of each prediction comes from the {source} sentence; the rest comes from the "
        f"{target} text already written. For signed scores, only the magnitude counts. Each method "
        "measures this share in its own way, so compare points on one line, not on different lines. Where a line "
        "falls, the model leans more on its own words, as it does when it makes something up (Ferrando et al. 2022; "
        "Voita et al. 2021). Rollout has no line, because by definition its source share is the same at every step."
    )
    if reading.languages.target.name == LANGUAGES.target.name:
        _show_wrong_beginning(reading)
    show_numbers(table, "mattered_side_numbers", digits=4)
    save_buttons(reading, experiment, None, table, "source_share")


def share_table(trace: Trace, attributions: Sequence[Attribution]) -> pd.DataFrame:
    """Return the share of each prediction that comes from the source, 0 to 1, with one row per step and method."""
    tokens = [token_label(token, trace.target_text) for token in trace.predicted_tokens]
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "step": range(1, len(tokens) + 1),
                    "token": tokens,
                    "method": title(attribution.method),
                    "share": attribution.source_share(),
                }
            )
            for attribution in attributions
        ],
        ignore_index=True,
    )


def share_chart(trace: Trace, table: pd.DataFrame, source: str) -> alt.LayerChart:
    """Return a line chart of a `share_table`; `source` is the name of the source language."""
    tokens = [token_label(token, trace.target_text) for token in trace.predicted_tokens]
    axis, names = labelled_axis(
        "step_labels", tokens, values=label_positions(tokens), labelAngle=-60, labelAlign="right"
    )
    lines = (
        alt.Chart(table)
        .mark_line(point=alt.OverlayMarkDef(size=60), strokeWidth=2.5)
        .encode(
            x=alt.X("step:O", title="token written", axis=axis),
            y=alt.Y(
                "share:Q",
                title=f"contribution of the {source} sentence",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(**{**AXIS, "format": "%"}),
            ),
            color=series_colour("method", dict(zip(map(title, METHODS_SHOWN), PALETTE["heads"][:3], strict=True))),
            tooltip=["step:O", "token:N", "method:N", alt.Tooltip("share:Q", format=".1%")],
        )
    )
    half = alt.Chart(pd.DataFrame({"share": [HALF]})).mark_rule(strokeDash=[4, 4], color="currentColor")
    return layer_charts(lines.add_params(names), half.encode(y="share:Q"), height=360)


def describe_sides(trace: Trace, attributions: Sequence[Attribution], languages: Languages) -> str:
    """Return Markdown with the first attribution's mean and lowest source share, and the number of steps below HALF."""
    source, target = (language.name for language in languages)
    shares = attributions[0].source_share()
    lowest = int(np.nanargmin(shares))
    read, written = (
        markdown(token_label(tokens[lowest], trace.target_text))
        for tokens in (trace.target_tokens, trace.predicted_tokens)
    )
    leaning = int((shares < HALF).sum())
    return (
        f"On average, the {title(attributions[0].method).lower()} method attributes {np.nanmean(shares):.0%} of a "
        f"prediction to the {source} sentence. The share is lowest, **{shares[lowest]:.0%}**, at step {lowest + 1}, "
        f"where the model writes “**{written}**” after “**{read}**”; "
        + (
            f"at {leaning} of {len(shares)} steps, the model leans on the {target} more than on the {source}."
            if leaning
            else f"at no step does the model lean on the {target} more than on the {source}."
        )
    )


def _show_wrong_beginning(reading: Reading) -> None:
    st.subheader("Force a wrong beginning and watch the source share fall", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox("Begin with", BEGINNINGS, key=BEGINNING, width=220)
        st.button(
            "Let the model continue from there",
            icon=":material/edit:",
            on_click=_force_beginning,
            args=(reading.runs, reading.trace.source_text),
            key="mattered_force",
        )
    problem = st.session_state.pop(PROBLEM, None)
    if problem is not None:
        st.warning(markdown(problem), icon=":material/edit:")
    if reading.given:
        own, now = (
            reading.runs.get(AttributionRun(run, "frozen_gradient")).source_share()
            for run in (TraceRun(reading.trace.source_text), reading.run)
        )
        lowest, before = int(np.nanargmin(now)), float(np.nanmin(own))
        st.markdown(
            f"The translation now reads: **{markdown(reading.trace.target_text)}** According to frozen gradients, the "
            f"lowest source share is **{now[lowest]:.0%}**, at step {lowest + 1}, where the model writes "
            f"“**{markdown(_token(reading.trace, lowest))}**”. In the model's own translation, the lowest "
            f"source share is {before:.0%}."
        )
    else:
        st.caption(
            "The model has to begin with the chosen words, which have nothing to do with the sentence, and then "
            "continues on its own. All pages then show the new translation; a button above restores the model's own."
        )


def _token(trace: Trace, step: int) -> str:
    return token_label(trace.predicted_tokens[step], trace.target_text)


def _force_beginning(runs: CachedRuns, text: str) -> None:
    """Callback: decode with the chosen beginning forced, and use the new translation on all pages."""
    beginning = st.session_state[BEGINNING]
    forced = (*runs.tokenizer.begin(text), *runs.tokenizer.encode_ids(beginning)[:-1])
    try:
        traced = runs.get(DecodingRun(text, prefix=forced))
    except AtlasError as error:
        st.session_state[PROBLEM] = str(error)
        return
    session.store(DecodingParams(forced=forced, search=True))
    session.read_instead(traced.translation.text, f"greedy decoding after the forced beginning “{beginning}”")
