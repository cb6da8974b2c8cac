"""All heads as maps and as a table: every metric, on this sentence and over many."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui import state
from pages.ui.browser import TITLES
from pages.ui.compare.comparison import Comparison
from pages.ui.figures import matrix
from pages.ui.links import open_head
from pages.ui.sentence import Reading
from transformer.analysis.heads import METRICS, HeadMetrics, metrics_of
from transformer.analysis.names import RULES, head_names
from transformer.analysis.statistics import Statistics
from transformer.trace import KINDS, Kind

STATISTICS = Path(__file__).parents[3] / "assets" / "head_statistics.json"
MANY = "over {} sentences"
COMMAND = "python -m transformer.analysis --sentences assets/sentences.txt --output assets/head_statistics.json"


@st.cache_resource
def statistics_over_many(version: str) -> Statistics | None:
    """The metrics of a model over the sentences of assets/sentences.txt; None if another model was measured.

    Args:
        version: of the translator.
    """
    measured = Statistics.from_json(STATISTICS.read_text(encoding="utf-8"))
    return measured if measured.model == version else None


def show_all_heads(reading: Reading) -> None:
    """Maps of one metric, and the table of all."""
    many = statistics_over_many(reading.translator.version)
    here = {kind: reading.metrics(kind) for kind in KINDS}
    comparison = state.own(Comparison)
    titles = {metric.name: metric.title for metric in METRICS}
    metric = comparison.metric if comparison.metric in titles else "confidence"
    st.selectbox(
        "Number shown by the maps", titles, key=state.hold("compare_metric", metric), format_func=titles.get,
        on_change=lambda: state.keep(Comparison, metric=st.session_state.compare_metric),
    )
    st.caption(next(each.meaning for each in METRICS if each.name == metric))
    for column, kind in zip(st.columns(3, gap="medium"), KINDS, strict=True):
        with column:
            st.markdown(f"**{TITLES[kind]}**")
            if metric in here[kind].values and not np.isnan(here[kind].values[metric]).all():
                st.altair_chart(
                    _map(here[kind], metric), key=f"compare_map_{kind}", width="stretch",
                    alt=f"{titles[metric]} of every head; the table below has the same numbers.",
                )
            else:
                st.caption("There is no such number for this kind of attention and this sentence.")
    _table(here, many)


def _map(metrics: HeadMetrics, name: str) -> alt.Chart:
    values = metrics.values[name]
    layers, heads = values.shape
    metric = next(each for each in METRICS if each.name == name)
    most = metric.high or max(float(np.nan_to_num(values).max()), 1e-9)
    return matrix(
        np.nan_to_num(values), [f"layer {layer}" for layer in range(1, layers + 1)],
        [f"head {head}" for head in range(1, heads + 1)], name=f"{metric.title} ({metric.unit})",
        scale=alt.Scale(domain=[0, most], scheme="viridis"),
    )


def _table(here: dict[Kind, HeadMetrics], many: Statistics | None) -> None:
    named_only = st.toggle("Only heads with a name", key="compare_named")
    st.markdown("**Every number of every head.** Click a column's head to sort, a row to open the head.")
    table = head_table(here, many)
    if named_only:
        table = table[(table.filter(regex="^name ") != "").any(axis=1)]
    # Streamlit keeps the number of the row that was clicked; where other heads are listed, it would mean another one.
    listed = "_".join(map(str, table.index)) if named_only else "all"
    picked = st.dataframe(
        table, key=f"compare_table_{listed}", hide_index=True, height=420, on_select="rerun",
        selection_mode="single-row",
        column_config={
            name: st.column_config.TextColumn(width=150) if name.startswith("name ")
            else st.column_config.NumberColumn(format="%.3f")
            for name in table.columns[3:]
        },
    ).selection.rows
    if not many:
        st.caption(f"The numbers over many sentences in assets/head_statistics.json are of another model: `{COMMAND}` "
                   "computes those of this one.")
    if picked:
        row = table.iloc[picked[0]]
        kind = next(kind for kind, title in TITLES.items() if title == row["kind"])
        open_head(kind, int(row["layer"]) - 1, int(row["head"]) - 1)
    with st.expander("When a head gets a name"):
        st.markdown(
            "Heads rest on the first piece and on the end symbol when they have nothing to do, so links there do not "
            "count for any name but “end symbol”.\n\n"
            + "\n".join(f"- **{rule.name}** ({', '.join(rule.kinds)}): {rule.threshold}" for rule in RULES)
        )
        if many:
            over = MANY.format(many.sentences)
            st.caption(f"The numbers {over} (assets/sentences.txt) were computed once, by `{COMMAND}`.")


def head_table(here: dict[Kind, HeadMetrics], many: Statistics | None) -> pd.DataFrame:
    """A row a head: kind, layer, head, its names, and every metric, on this sentence and, if there are any, over many.
    """
    rows = []
    for kind, metrics in here.items():
        measured = {"here": metrics} | ({MANY.format(many.sentences): many.heads[kind]} if many else {})
        names = {where: head_names(each) for where, each in measured.items()}
        layers, heads = next(iter(metrics.values.values())).shape
        for layer in range(layers):
            for head in range(heads):
                row = {"kind": TITLES[kind], "layer": layer + 1, "head": head + 1}
                row |= {f"name {where}": ", ".join(each[layer][head]) for where, each in names.items()}
                for metric in metrics_of(kind):
                    for where, each in measured.items():
                        title = metric.title if where == "here" else f"{metric.title} {where}"
                        row[title] = each.values[metric.name][layer, head]
                rows.append(row)
    return pd.DataFrame(rows)
