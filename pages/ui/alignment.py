"""Where each piece of the translation comes from, read off cross-attention."""

from __future__ import annotations

import json

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui import state
from pages.ui.figures import AXIS, LEGEND
from pages.ui.plain import markdown, piece_label
from transformer.analysis.alignment import alignment_rows, coverage, hard_alignment, special_columns, special_share
from transformer.trace import Trace

# Pixels that axis and legend take.
ROUND = 160
STEPS = {False: "the step that predicts it", True: "the step that reads it"}


def show_alignment(trace: Trace) -> None:
    """For every German piece, the English piece that each layer looks at most; then coverage."""
    st.subheader("Which English piece is each German piece from?", anchor=False)
    shift = state.choice().shift
    st.segmented_control(
        "Take the row of", STEPS, key=state.hold("alignment_shift", shift), format_func=STEPS.get, required=True,
        on_change=lambda: state.change(shift=st.session_state.alignment_shift),
        help="A piece is predicted at one step and read at the next. Which row aligns better differs between models "
        "and layers: Chen et al. 2020 found the step that reads it better, in the middle layers.",
    )
    rows = alignment_rows(trace, shift=shift).mean(axis=1)
    special = special_columns(trace)
    if not rows.shape[1] or special.all():
        st.caption("There is no piece to align.")
        return
    sources = [piece_label(piece, trace.source_text) for piece in trace.source_pieces]
    targets = [piece_label(piece, trace.target_text) for piece in trace.target_pieces[1:]]
    st.altair_chart(
        alignment_chart(rows, special, sources, targets), key="alignment", width="stretch",
        alt="A row for every German piece, a column for every layer: the English piece that its heads look at most.",
    )
    st.caption(
        "Each cell names the English piece that the heads of a layer look at most on average, start and end symbols "
        "left out; its colour is that average weight."
    )
    layer = min(state.choice().layer, len(rows) - 1)
    place, words = st.columns([5, 3], gap="medium", vertical_alignment="center")
    place.altair_chart(
        coverage_chart(coverage(rows[layer]), sources), key="coverage", width="stretch",
        alt="How much attention every English piece got in all.",
    )
    words.markdown(covered(rows[layer], special, sources, layer))


def alignment_chart(rows: np.ndarray, special: np.ndarray, sources: list[str], targets: list[str]) -> alt.LayerChart:
    """Target pieces by layers.

    Args:
        rows: [L, N, S], the mean of each layer's heads.
        special: bool [S].
        sources, targets: labels, S and N.
    """
    aligned = hard_alignment(rows, special)
    layers, pieces = np.indices(aligned.shape).reshape(2, -1)
    table = pd.DataFrame({
        "layer": layers + 1, "row": pieces + 1, "piece": np.array(targets, dtype=object)[pieces],
        "source": np.array(sources, dtype=object)[aligned.ravel()],
        "weight": np.take_along_axis(rows, aligned[..., None], axis=-1).ravel().astype(float),
    })
    names = json.dumps([f"{number}: {target}" for number, target in enumerate(targets, start=1)])
    base = alt.Chart(table).encode(
        x=alt.X("layer:O", title="layer", axis=alt.Axis(orient="top", labelAngle=0, **AXIS)),
        y=alt.Y("row:O", title=None, axis=alt.Axis(labelExpr=f"{names}[datum.value - 1]", **AXIS)),
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "weight:Q", scale=alt.Scale(domain=[0, 1], scheme="viridis"), legend=alt.Legend(title="weight", **LEGEND)
        ),
        tooltip=["piece:N", "layer:O", "source:N", alt.Tooltip("weight:Q", format=".4f")],
    )
    words = base.mark_text(fontSize=12).encode(
        text="source:N", color=alt.condition("datum.weight > 0.6", alt.value("#0b1020"), alt.value("#ffffff"))
    )
    return (cells + words).properties(height=ROUND + 24 * len(targets))


def coverage_chart(covered: np.ndarray, sources: list[str]) -> alt.LayerChart:
    """Bars of coverage, [S], with a line at 1."""
    table = pd.DataFrame({"at": range(1, len(sources) + 1), "piece": sources, "coverage": covered.astype(float)})
    names = json.dumps(sources)
    bars = alt.Chart(table).mark_bar().encode(
        x=alt.X("at:O", title=None, axis=alt.Axis(labelExpr=f"{names}[datum.value - 1]", labelAngle=-60, **AXIS)),
        y=alt.Y("coverage:Q", title="coverage", axis=alt.Axis(grid=False, **AXIS)),
        tooltip=["piece:N", alt.Tooltip("coverage:Q", format=".2f")],
    )
    once = alt.Chart(pd.DataFrame({"coverage": [1.0]})).mark_rule(strokeDash=[4, 4], color="currentColor")
    return (bars + once.encode(y="coverage:Q")).properties(height=240)


def covered(rows: np.ndarray, special: np.ndarray, sources: list[str], layer: int) -> str:
    """Markdown: what the coverage of a layer says, from its numbers."""
    each = coverage(rows)
    words = np.flatnonzero(~special)
    most, least = words[each[words].argmax()], words[each[words].argmin()]
    rest = special_share(rows, special).mean()
    return (
        f"**Layer {layer + 1}, mean of its heads.** The bars add up to the {len(rows)} German pieces. Most looked at: "
        f"**{markdown(sources[most])}** ({each[most]:.2f})"
        + (f"; least: **{markdown(sources[least])}** ({each[least]:.2f}). " if least != most else ". ") +
        f"On average {rest:.0%} of a row rests on the end symbol."
    )
