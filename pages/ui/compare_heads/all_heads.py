"""Compares all heads by one metric in heatmaps, and by all metrics in a table.

Metrics are measured on the current sentence and, for some models, averaged over many sentences.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attention_atlas.browser.labels import TITLES
from attention_atlas.browser.payload import AlsoNamed
from pages.ui.charts.downloads import csv_text, save_button
from pages.ui.charts.matrix import heads_matrix
from pages.ui.charts.palette import diverging, sequential
from pages.ui.compare_heads.head_table import show_head_table
from pages.ui.heads.head_reading import MapReading
from pages.ui.heads.kinds import show_heads_chart
from pages.ui.layout.roles import main_figure
from pages.ui.measurements.local_measurement import model_record, offer_measurement
from pages.ui.measurements.recordings import IMPORTANCE, STATISTICS
from pages.ui.params.compare_heads import CompareParams
from pages.ui.runs.inference import LONG_RUNS
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from transformer.analysis.heads.metrics import METRICS, HeadMetrics, metrics_of
from transformer.analysis.heads.names import RULES, head_names
from transformer.analysis.heads.statistics import Statistics, statistics_of
from transformer.language_modelling.head_scores import NAMES, THRESHOLD
from transformer.measurements.importance import ImportanceStatistics, importance_statistics
from transformer.running.translator import Translator
from transformer.values.trace import Kind

OVER_SENTENCES = "over {} sentences"
# Name of the additional metric "head importance", which is not one of METRICS.
IMPORTANCE_NAME = "worth"
IMPORTANCE_TITLE = "effect of removal, nats"


def show_all_heads(reading: MapReading, controls: DeltaGenerator, also: AlsoNamed) -> None:
    """Show heatmaps of one metric, with one cell per head, and a table of all metrics.

    Args:
        reading: the text and its attention maps.
        controls: the container for the control that chooses the metric.
        also: additional names of heads, based on their attention while the model reads random patterns.
    """
    translator, had = reading.translator, reading.trace.kinds
    many = model_record(STATISTICS, translator) if translator else None
    worth = model_record(IMPORTANCE, translator) if translator else None
    here: dict[Kind, HeadMetrics] = {kind: reading.metrics(kind) for kind in had}
    comparison = session.params(CompareParams)
    titles = {metric.name: metric.title for metric in METRICS if set(metric.kinds) & set(had)}
    if worth:
        titles[IMPORTANCE_NAME] = f"{IMPORTANCE_TITLE}, {OVER_SENTENCES.format(worth.sentences)}"
    metric = comparison.metric if comparison.metric in titles else "confidence"
    controls.selectbox(
        "Colour heads by",
        titles,
        format_func=lambda name: f"Colour by {titles[name]}",
        label_visibility="collapsed",
        width=215,
        **bind(CompareParams, "metric", value=metric),
    )
    meanings = {each.name: each.meaning for each in METRICS} | (
        {IMPORTANCE_NAME: describe_importance(worth)} if worth else {}
    )
    highest = _highest(here, metric)
    heading = f"**{titles[metric].capitalize()} of every head:** {markdown(reading.trace.text)}"
    # The main figure is the heatmap with the highest value, or all heatmaps together if no value is defined.
    with main_figure(heading, when=highest is None):
        # Create at least two columns, because a single heatmap would stretch across the whole page.
        columns = st.columns(max(len(had), 2), gap="medium")
    for column, kind in zip(columns, had, strict=False):
        main = highest is not None and kind == highest.kind
        with column, main_figure(heading, str(highest), when=main), st.container(gap="xxsmall"):
            st.markdown(f"**{TITLES[kind]}**")
            chart = _importance_map(worth, kind) if worth and metric == IMPORTANCE_NAME else _map(here[kind], metric)
            if chart is not None:
                show_heads_chart(
                    chart,
                    kind,
                    f"compare_map_{kind}",
                    f"{titles[metric]} of every head; the table below lists the values and lets you open a head.",
                    fields=("row", "column"),
                    maps=reading.maps,
                )
            else:
                st.caption("This measurement is not defined for this kind of attention or for this sentence.")
    st.caption(
        f"{meanings[metric]} Click a cell of a map to open its head; with a keyboard, use the table below.",
        help=explain("attention sink", "entropy", "log-probability", "nats"),
    )
    _table(here, many, worth, reading, also)


@dataclass(frozen=True)
class Highest:
    """The head with the highest value of a metric. `str` returns a one-line description."""

    value: float
    kind: Kind
    layer: int
    head: int

    def __str__(self) -> str:
        where = f"{TITLES[self.kind].lower()}, layer {self.layer + 1}, head {self.head + 1}"
        return f"Highest: {where}, with {self.value:.2f}"


def _highest(here: dict[Kind, HeadMetrics], name: str) -> Highest | None:
    """Return the head with the highest value of a metric, over all attention kinds; None if no kind has values."""
    candidates = []
    for kind, metrics in here.items():
        values = metrics.values.get(name)
        if values is not None and not np.isnan(values).any():
            layer, head = np.unravel_index(values.argmax(), values.shape)
            candidates.append(Highest(float(values.max()), kind, int(layer), int(head)))
    return max(candidates, key=lambda candidate: candidate.value, default=None)


def describe_importance(worth: ImportanceStatistics) -> str:
    """Return text that explains how head importance was measured."""
    return (
        "Change in the log-probability of the model's own translation when a single head is switched off, averaged "
        f"over {worth.sentences} other sentences. A negative number means that the translation is less likely without "
        "the head."
    )


def _map(metrics: HeadMetrics, name: str) -> alt.Chart | alt.LayerChart | None:
    """Return a heatmap of a metric for all heads of one kind; None if the metric is undefined for the kind or the
    sentence.
    """
    values = metrics.values.get(name)
    if values is None or np.isnan(values).any():
        return None
    metric = next(each for each in METRICS if each.name == name)
    most = metric.high or max(float(values.max()), 1e-9)
    return heads_matrix(values, name=f"{metric.title} ({metric.unit})", scale=sequential(most))


def _importance_map(worth: ImportanceStatistics, kind: Kind) -> alt.Chart | alt.LayerChart:
    most = max(float(np.abs(each.mean).max()) for each in worth.measured.values()) or 1.0
    return heads_matrix(worth.measured[kind].mean, name=IMPORTANCE_TITLE, scale=diverging(most))


def _table(
    here: dict[Kind, HeadMetrics],
    many: Statistics | None,
    worth: ImportanceStatistics | None,
    reading: MapReading,
    also: AlsoNamed,
) -> None:
    table = head_table(here, many, worth, also)
    over = {measured.sentences for measured in (many, worth) if measured}
    # All controls are on one line, so that the table starts high on the page.
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            "**All measurements of all heads.** Click a row to open its head. Click a column name to sort the table. "
            + " ".join(f"Means are over {count} sentences." for count in sorted(over)),
            width="stretch",
        )
        named_only = st.toggle("Only heads with a name", **bind(CompareParams, "named"))
        if named_only:
            table = table.loc[(table.filter(regex="^name ") != "").any(axis=1)]
        save_button("Save as CSV", lambda: csv_text(table), "heads.csv")
    kinds: dict[str, Kind] = {title: kind for kind, title in TITLES.items()}
    show_head_table(
        table, [kinds[title] for title in table["kind"]], "compare_table", reading.maps, headings(table, over)
    )
    if reading.translator:
        _show_recorded(many, worth, reading.translator)
    else:
        st.caption("These numbers are for this text only: a language model’s heads are not measured over many texts.")
    with st.expander("When a head gets a name"):
        _show_rules(tuple(here), also)
        if many and reading.translator:
            over = OVER_SENTENCES.format(many.sentences)
            command = STATISTICS.beside(reading.translator).command
            st.caption(f"The means {over} were computed once, with `{command}`.")


def _show_recorded(many: Statistics | None, worth: ImportanceStatistics | None, translator: Translator) -> None:
    """Describe how head importance was measured, and show a button for each measurement that is missing."""
    if not many:
        offer_measurement(
            STATISTICS,
            translator,
            _statistics,
            label="Measure over many sentences",
            missing="This model has not been measured over many sentences.",
        )
    if worth:
        st.caption(
            f"“{IMPORTANCE_TITLE}”: {describe_importance(worth)[0].lower()}{describe_importance(worth)[1:]} “from” and "
            "“to” are the ends of the 95% confidence interval. If the interval includes 0, the head may have no effect "
            f"at all. Computed by `{IMPORTANCE.beside(translator).command}`.",
            help=explain("log-probability", "nats"),
        )
    else:
        offer_measurement(
            IMPORTANCE,
            translator,
            importance_statistics,
            label="Measure head importance",
            turns=LONG_RUNS,
            missing="The importance of this model's heads has not been measured over many sentences. The measurement "
            "switches off one head at a time, for each sentence.",
        )


def _show_rules(kinds: Sequence[Kind], also: AlsoNamed) -> None:
    if len(kinds) > 1:
        sinks = "on the first token and the end symbol. Only the name “end symbol” takes these weights into account."
        rules = [f"- **{rule.name}** ({', '.join(rule.kinds)}): {rule.threshold}" for rule in RULES]
    else:
        sinks = "on the first token, so weights on it do not count towards any name."
        rules = [f"- **{rule.name}**: {rule.threshold}" for rule in RULES if kinds[0] in rule.kinds]
    if also:
        rules.append(
            f"- **{', '.join(NAMES.values())}**: on repeated random patterns, more than {THRESHOLD:.0%} of the "
            "head's attention, on average, is on the position that the name describes (Olsson et al. 2022)."
        )
    st.markdown(f"Heads with nothing to do park their attention {sinks}\n\n" + "\n".join(rules))


def _statistics(translator: Translator, sentences: Iterable[str]) -> Statistics:
    return statistics_of(map(translator.trace, sentences), translator.tokenizer, translator.version)


def head_table(
    here: dict[Kind, HeadMetrics],
    many: Statistics | None,
    worth: ImportanceStatistics | None = None,
    also: AlsoNamed = MappingProxyType({}),
) -> pd.DataFrame:
    """Return a table with one row per head: attention kind, layer, head, names and metrics.

    Args:
        here: the metrics for the current sentence, by attention kind.
        many: the mean metrics over many sentences; None if unknown.
        worth: each head's importance, with a 95% confidence interval; None if unknown.
        also: additional names of heads, by 0-based layer and head.
    """
    rows = []
    for kind, metrics in here.items():
        measured = {"here": metrics} | ({OVER_SENTENCES.format(many.sentences): many.heads[kind]} if many else {})
        names = {where: head_names(each) for where, each in measured.items()}
        layers, heads = next(iter(metrics.values.values())).shape
        for layer in range(layers):
            for head in range(heads):
                row = {"kind": TITLES[kind], "layer": layer + 1, "head": head + 1}
                row |= {f"name {where}": ", ".join(each[layer][head]) for where, each in names.items()}
                if also:
                    row["name from random patterns"] = ", ".join(also.get((layer, head), ()))
                if worth:
                    row |= _importance_of(worth, kind, layer, head)
                for metric in metrics_of(kind):
                    for where, each in measured.items():
                        # assets/head_statistics.json may lack a metric that was added later.
                        if metric.name not in each.values:
                            continue
                        title = metric.title if where == "here" else f"{metric.title} {where}"
                        row[title] = each.values[metric.name][layer, head]
                rows.append(row)
    return pd.DataFrame(rows)


def headings(table: pd.DataFrame, over: Iterable[int]) -> dict[str, tuple[str, str]]:
    """Return two-level headings by column name. The first level is the measurement; the second is "here", "mean", "on
    average", "from" or "to".

    Args:
        table: a table made by `head_table`.
        over: the sentence counts that appear in the column names.
    """
    titles = {}
    for many in (OVER_SENTENCES.format(count) for count in over):
        for column in table.columns:
            if not column.endswith(many):
                continue
            title = column.removesuffix(many).rstrip(", ")
            if title in ("from", "to"):
                titles[column] = IMPORTANCE_TITLE, title
                continue
            titles[column] = title, "on average" if title == "name" else "mean"
            here = next((name for name in (title, f"{title} here") if name in table), None)
            if here:
                titles[here] = title, "here"
    return titles


def _importance_of(worth: ImportanceStatistics, kind: Kind, layer: int, head: int) -> dict[str, float]:
    change, over = worth.measured[kind], OVER_SENTENCES.format(worth.sentences)
    return {
        f"{IMPORTANCE_TITLE}, {over}": float(change.mean[layer, head]),
        f"from, {over}": float(change.low[layer, head]),
        f"to, {over}": float(change.high[layer, head]),
    }
