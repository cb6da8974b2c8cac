"""Explains why a head attends to a token: splits an attention score into terms, one per pair of model components."""

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.charts.downloads import save_tables
from pages.ui.charts.matrix import matrix
from pages.ui.charts.palette import diverging
from pages.ui.charts.tables import show_numbers
from pages.ui.components.experiment import embed_experiment, experiment_buttons
from pages.ui.components.save_as import show_altair
from pages.ui.heads.head_reading import TracedReading
from pages.ui.heads.kinds import head_markdown_link
from pages.ui.how_it_came_about.question import labels_of, part_name
from pages.ui.layout.roles import main_figure
from pages.ui.params.how_it_came_about import GraphParams
from pages.ui.state import session
from pages.ui.state.bind import bind, key_for, preset
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import typeset
from transformer.running.runs.graph import ScorePairsRun

# Maximum number of components shown in separate rows, and in separate columns. The others share one row or one column.
LARGEST = 7


def show_score(reading: TracedReading) -> None:
    """Show select boxes for one cell of an attention map, and the terms of the cell's score."""
    trace, params = reading.trace, session.params(GraphParams)
    kind = params.kind if params.kind in trace.kinds else trace.kinds[0]
    layers, heads, queries, keys = trace.attention(kind).shape
    looking = labels_of(trace.query_tokens(kind), trace.source_text if kind == "encoder" else trace.target_text)
    key_labels = labels_of(trace.key_tokens(kind), trace.target_text if kind == "decoder" else trace.source_text)
    choice = reading.choice(kind)
    layer = params.layer if 0 <= params.layer < layers else choice.layer
    head = params.head if 0 <= params.head < heads else choice.head
    query = params.query if 0 <= params.query < queries else queries // 2
    row = trace.attention(kind)[layer, head, query]
    allowed = np.flatnonzero(trace.mask(kind)[query])
    key = params.key if params.key in allowed else int(row.argmax())
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Attention", trace.kinds, format_func=TITLES.__getitem__, width=220, **bind(GraphParams, "kind", value=kind)
        )
        for name, title, options, at, labels in (
            ("layer", "Layer", range(layers), layer, None),
            ("head", "Head", range(heads), head, None),
            ("query", "This token …", range(queries), query, looking),
            ("key", "… looks at", allowed, key, key_labels),
        ):
            _show_box(name, title, [int(option) for option in options], at, labels)
    try:
        experiment = embed_experiment(
            reading.runs, run := ScorePairsRun(reading.details_run, kind, layer, head, query, key)
        )
        pairs = reading.runs.get(run)
    except ValueError as error:
        st.info(f"{str(error)[0].upper()}{markdown(str(error)[1:])}.")
        return
    query_parts, key_parts, scores = pairs.largest(LARGEST)
    rows, columns = ([part_name(part) for part in parts] for parts in (query_parts, key_parts))
    is_named = np.outer([part is not None for part in query_parts], [part is not None for part in key_parts])
    top = np.unravel_index((abs(scores) * is_named).argmax(), scores.shape)
    st.markdown(
        f"In {head_markdown_link(kind, layer, head, reading.maps, query)}, “{markdown(looking[query])}” gives "
        f"“{markdown(key_labels[key])}” the score **{typeset(pairs.total, '.2f')}** and the weight **{row[key]:.0%}**. "
        "The score is the sum of all cells below"
        + (f" and {typeset(pairs.distance, '+.2f')} for the distance" if pairs.distance else "")
        + f". Of the terms that combine two listed components, the largest is {typeset(scores[top], '+.2f')}: "
        f"{rows[top[0]]} on the query's side and {columns[top[1]]} on the key's side.",
        help=explain("query", "key", "head"),
    )
    addends = "the cells and the term for the distance" if pairs.distance else "the cells"
    with main_figure(
        f"Why layer {layer + 1}, head {head + 1} of {TITLES[kind].lower()} looks from “{markdown(looking[query])}” to "
        f"“{markdown(key_labels[key])}”",
        f"Rows contribute to the query, columns to the key; {addends} add up to the score",
    ):
        show_altair(
            matrix(
                scores,
                rows,
                columns,
                name="part of the score",
                scale=diverging(float(abs(scores).max()) or 1.0),
                titles=("component of the query", "component of the key"),
            ),
            key="graph_score",
            alt="Map of a score's terms: each cell is the term of one pair of components, and "
            f"{addends} add up to the score; the table lists the values.",
        )
    st.caption(
        "The norms' scales are treated as constants. Softmax compares the scores in a row, so a term that is equal for "
        "all keys does not change where the head looks. The terms describe this score, but no cut has tested them."
    )
    table = pd.DataFrame(
        [
            (row, column, float(scores[index, to]))
            for index, row in enumerate(rows)
            for to, column in enumerate(columns)
        ],
        columns=["query", "key", "part of the score"],
    )
    show_numbers(table, "graph_score_numbers", digits=4)
    with save_tables(
        "score",
        "graph",
        {
            "sentence": trace.source_text,
            "text": trace.target_text,
            "model": trace.model,
            "kind": kind,
            "layer": layer,
            "head": head,
            "row": query,
            "column": key,
            "score": pairs.total,
        },
        {"pairs": table},
    ):
        experiment_buttons(reading.runs, experiment, "score")


def _show_box(name: str, title: str, options: list[int], at: int, labels: tuple[str, ...] | None) -> None:
    """Show a select box for the layer, head, row or column of the explained cell.

    Without labels, the options are numbers from 1.
    """
    names = {option: str(option + 1) if labels is None else labels[option] for option in options}
    key = key_for(f"graph_{name}", names.values())
    st.selectbox(
        title,
        options,
        format_func=names.__getitem__,
        key=preset(key, at),
        width=90 if labels is None else 180,
        on_change=lambda: session.update(GraphParams, **{name: st.session_state[key]}),
    )
