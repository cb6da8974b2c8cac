"""Charts of the word alignment: the source token that corresponds to each target token, based on cross-attention."""

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import disambiguate
from attention_atlas.browser.token_labels import token_label
from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import AXIS, LEGEND, label_axis
from pages.ui.charts.palette import ink_on, sequential
from pages.ui.charts.specification import FilledChart
from pages.ui.charts.tables import numbered_labels
from pages.ui.components.save_as import show_altair
from pages.ui.state import session
from pages.ui.state.bind import preset, when_chosen
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from transformer.analysis.alignment import alignment_rows, coverage, hard_alignment, special_columns, special_share
from transformer.text.languages import Languages
from transformer.values.trace import Trace

# Pixels that the axis and the legend add to the height of the alignment chart's rows.
ROUND = 160
STEPS = {False: "the step that writes the token", True: "the next step, which reads the token"}


def show_alignment(trace: Trace, languages: Languages, layer: int) -> None:
    """Show the word alignment in all layers, and the coverage of each source token in one layer (0-based)."""
    source, target = (language.name for language in languages)
    st.subheader(
        f"Which {source} token does each {target} token come from?",
        anchor="alignment",
        help=explain("alignment", "coverage"),
    )
    shift = session.attention().shift
    st.segmented_control(
        "Which step to look at",
        STEPS,
        key=preset("alignment_shift", shift),
        format_func=STEPS.__getitem__,
        required=True,
        on_change=when_chosen("alignment_shift", lambda step: session.update_attention(shift=step)),
        help="A token is written at one step and read at the next. The model and the layer determine which of the "
        "two steps shows the token's source better. Chen et al. 2020 got the best results from the reading step in the "
        "middle layers.",
    )
    rows = alignment_rows(trace, shift=shift).mean(axis=1)
    special = special_columns(trace)
    if not rows.shape[1] or special.all():
        st.caption("The translation has no tokens to align.")
        return
    sources = disambiguate(token_label(token, trace.source_text) for token in trace.source_tokens)
    targets = [token_label(token, trace.target_text) for token in trace.target_tokens[1:]]
    show_altair(
        alignment_chart(rows, special, sources, targets),
        key="alignment",
        alt=f"One row per {target} token and one column per layer. Each cell names the {source} token with the "
        "highest mean weight over the layer's heads.",
    )
    st.caption(
        f"Each cell names the {source} token with the highest mean weight over a layer's heads (start and end symbols "
        "left out). The colour shows that weight."
    )
    place, words = st.columns([5, 3], gap="medium", vertical_alignment="center")
    with place:
        show_altair(
            coverage_chart(coverage(rows[layer]), sources),
            key="coverage",
            alt=f"The total attention that each {source} token received.",
        )
    words.markdown(covered(rows[layer], special, sources, layer, target))


def alignment_chart(rows: np.ndarray, special: np.ndarray, sources: list[str], targets: list[str]) -> FilledChart:
    """Return a chart that names, for each target token (row) and layer (column), the most attended source token.

    Args:
        rows: each layer's attention weights, averaged over heads: [L, N, S].
        special: whether each source token is a start or end symbol: bool [S].
        sources, targets: labels of the S source tokens and the N target tokens.
    """
    aligned = hard_alignment(rows, special)
    layers, tokens = np.indices(aligned.shape).reshape(2, -1)
    table = pd.DataFrame(
        {
            "layer": layers + 1,
            "row": tokens + 1,
            "token": np.array(targets, dtype=object)[tokens],
            "source": np.array(sources, dtype=object)[aligned.ravel()],
            "weight": np.take_along_axis(rows, aligned[..., None], axis=-1).ravel().astype(float),
        }
    )
    return FilledChart(
        _alignment_form, (len(targets), len(rows)), {"cells": table}, {"row_labels": numbered_labels(targets)}
    )


def _alignment_form(targets: int, layers: int) -> alt.LayerChart:
    base = alt.Chart(alt.NamedData("cells")).encode(
        x=alt.X("layer:O", title="layer", axis=alt.Axis(orient="top", labelAngle=0, **AXIS)),
        y=alt.Y("row:O", title=None, axis=label_axis("row_labels", targets)),
    )
    cells = base.mark_rect().encode(
        color=alt.Color("weight:Q", scale=sequential(), legend=alt.Legend(title="weight", **LEGEND)),
        # Every tooltip has an explicit type, because Altair searches its whole schema to infer a missing one.
        tooltip=[
            alt.Tooltip("token:N"),
            alt.Tooltip("layer:O"),
            alt.Tooltip("source:N"),
            alt.Tooltip("weight:Q", format=".4f"),
        ],
    )
    words = base.mark_text(fontSize=12, limit=alt.expr(f"width / {layers}")).encode(
        text=alt.Text("source:N"), color=ink_on("weight")
    )
    return layer_charts(cells, words, height=ROUND + 24 * targets)


def coverage_chart(covered: np.ndarray, sources: list[str]) -> FilledChart:
    """Return a bar chart of the coverage of each source token, with a reference line at 1.

    Args:
        covered: how much attention each source token receives in total: [S].
        sources: labels of the S source tokens.
    """
    table = pd.DataFrame({"at": range(1, len(sources) + 1), "token": sources, "coverage": covered.astype(float)})
    return FilledChart(_coverage_form, (len(sources),), {"bars": table}, {"column_labels": sources})


def _coverage_form(sources: int) -> alt.LayerChart:
    bars = (
        alt.Chart(alt.NamedData("bars"))
        .mark_bar()
        .encode(
            x=alt.X("at:O", title=None, axis=label_axis("column_labels", sources, labelAngle=-60)),
            y=alt.Y("coverage:Q", title="coverage (sum of weights)", axis=alt.Axis(grid=False, **AXIS)),
            tooltip=[alt.Tooltip("token:N"), alt.Tooltip("coverage:Q", format=".2f")],
        )
    )
    once = alt.Chart(alt.InlineData([{"coverage": 1.0}])).mark_rule(strokeDash=[4, 4], color="currentColor")
    return layer_charts(bars, once.encode(y=alt.Y("coverage:Q")), height=240)


def covered(rows: np.ndarray, special: np.ndarray, sources: list[str], layer: int, target: str) -> str:
    """Return Markdown that describes how much attention one layer gives to each source token in total.

    Args:
        rows: the layer's attention weights, averaged over heads: [N, S].
        special: whether each source token is a start or end symbol: bool [S].
        sources: labels of the S source tokens.
        layer: the 0-based layer.
        target: the name of the target language.
    """
    each = coverage(rows)
    words = np.flatnonzero(~special)
    most, least = words[each[words].argmax()], words[each[words].argmin()]
    rest = special_share(rows, special).mean()
    return (
        f"**Layer {layer + 1}, mean of its heads.** The bars add up to {len(rows)}, the number of {target} tokens. "
        f"Most looked at: **{markdown(sources[most])}** ({each[most]:.2f})"
        + (f"; least: **{markdown(sources[least])}** ({each[least]:.2f}). " if least != most else ". ")
        + f"On average, a row puts {rest:.0%} of its weight on the end symbol."
    )
