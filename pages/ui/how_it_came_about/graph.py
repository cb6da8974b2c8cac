"""The attribution graph of a predicted token, and one of its paths: predicted effect, ablation and measured effect."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.charts.matrix import PICK, matrix
from pages.ui.charts.palette import sequential
from pages.ui.charts.saving import save_tables
from pages.ui.charts.tables import show_numbers
from pages.ui.components.experiment import carry, experiment_buttons
from pages.ui.components.save_as import show_altair
from pages.ui.heads.head_reading import TracedReading
from pages.ui.heads.kinds import linked_head
from pages.ui.how_it_came_about.drawing import bias_table, graph_chart, node_table, path_table
from pages.ui.how_it_came_about.question import PathQuestion, pick_question
from pages.ui.layout.roles import main_figure
from pages.ui.measured.measuring import measured, offer_measuring
from pages.ui.measured.recorded import PATHS
from pages.ui.params.how_it_came_about import GraphParams
from pages.ui.runs.inference import LONG_RUNS
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import bind, bind_number, key_for, preset, setting
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import typeset
from transformer.ablation.estimate import rank_correlation
from transformer.attribution.graph import AttributionGraph, Path, PrunedGraph, pruned
from transformer.running.runs.graph import GraphRun, PathEffectsRun
from transformer.surveys.paths import PathStatistics, path_statistics


def show_graph(reading: TracedReading) -> None:
    """Show the graph, the chosen path, and the conclusions that the measurements allow."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question = pick_question(reading)
        st.number_input("Maximum nodes", step=5, width=140, **bind_number(GraphParams, "most"))
    try:
        experiment = carry(reading.runs, graph_run := GraphRun(reading.details_run, question.target))
        graph = reading.runs.get(graph_run)
    except ValueError as error:
        st.info(f"{str(error)[0].upper()}{markdown(str(error)[1:])}.")
        raise PageEnd from None
    params = session.params(GraphParams)
    drawn = pruned(graph, params.most)
    nodes, paths = node_table(graph, drawn, question), path_table(graph, drawn, question)
    ends = graph.paths(drawn.edges)
    if params.every:
        paths["measured"] = reading.runs.get(PathEffectsRun(reading.details_run, question.target, ends))
    picked = params.path if 0 <= params.path < len(ends) else _telling_path(ends)
    cut = ends if params.every else ends[picked : picked + 1] if params.cut else ()
    if cut:
        cuts = PathEffectsRun(reading.details_run, question.target, cut)
        experiment = carry(reading.runs, graph_run, cuts)
    st.markdown(describe_graph(question, graph, drawn), help=explain("logit", "head", "feed-forward"))
    with main_figure(
        f"How {markdown(question.explained)} came about: {markdown(reading.trace.text)}",
        f"The chart shows {drawn.kept:.0%} of the flow; thicker lines carry more",
        rows=2,
    ):
        # A chart remembers its last click, so use a new chart when a path is chosen in another way.
        key = f"graph_drawing_{picked}"
        show_altair(
            graph_chart(graph, drawn, question, nodes, paths, picked),
            key=key,
            selection_mode=PICK,
            on_select=lambda: _pick(key, len(ends)),
            alt="Graph of the model components that produced a predicted token; the tables below list the values.",
        )
    if ends:
        _show_path(reading, question, paths, ends, picked, float(graph.values[-1]))
    st.toggle(
        f"Cut each of the {len(ends)} paths in turn and measure the effect",
        **bind(GraphParams, "every"),
        help="Each path is cut in a separate model run, in which all other paths stay.",
    )
    if params.every and len(ends) > 2:
        st.markdown(
            f"Here the rank correlation of predicted and measured effects is "
            f"**{typeset(rank_correlation(paths.predicted.to_numpy(), paths.measured.to_numpy()))}** over {len(ends)} "
            "paths."
        )
    _show_conclusion(reading)
    numbers = nodes.drop(columns=["x", "y", "short"])
    # Add edges from bias nodes only here: they are never cut, because no sentence can do without the biases.
    paths = pd.concat((paths, bias_table(graph, drawn, question)), ignore_index=True)
    show_numbers(paths, "graph_paths", label="The paths", digits=4)
    show_numbers(numbers, "graph_nodes", label="The nodes and their sums", digits=4)
    with save_tables(
        "how-it-came-about",
        "graph",
        {
            "sentence": reading.trace.source_text,
            "text": reading.trace.target_text,
            "model": reading.trace.model,
            "position": question.target.positions[0],
            "against": question.target.against and question.target.against[0],
            "threshold": drawn.threshold,
            "kept": drawn.kept,
        },
        {"paths": paths, "nodes": numbers},
    ):
        experiment_buttons(reading.runs, experiment, "graph")


def describe_graph(question: PathQuestion, graph: AttributionGraph, drawn: PrunedGraph) -> str:
    """Return Markdown that states the explained value, the error of the sums, and the share of the flow drawn."""
    what = "The logit of" if not question.other else "The logit difference"
    return (
        f"{what} {markdown(question.explained)} is **{typeset(graph.values[-1], '.2f')}**. Every node is the sum of "
        f"the edges into it, here to within {typeset(graph.error().max(), '.0e')}. The chart shows the "
        f"{len(drawn.edges)} edges of at least {typeset(drawn.threshold, '.2f')} logits that lead to the prediction; "
        f"they carry **{drawn.kept:.0%}** of the absolute flow. Dotted edges come from biases; "
        f"those that lead directly to the prediction add {typeset(graph.biases[-1], '+.2f')}."
    )


def _telling_path(ends: tuple[Path, ...]) -> int:
    """Return the index of the largest path that ends in a head, because a head has an attention map; else 0."""
    return next((at for at, (_, receiver) in enumerate(ends) if receiver.kind == "head"), 0)


def _pick(key: str, paths: int) -> None:
    """Callback for a click on an edge; `paths` is the number of paths, which excludes edges from bias nodes."""
    points = st.session_state[key].selection[PICK]
    # Higher numbers are edges from bias nodes, which cannot be cut.
    if points and int(points[0]["path"]) <= paths:
        session.update(GraphParams, path=int(points[0]["path"]) - 1, cut=False)


def _show_path(
    reading: TracedReading,
    question: PathQuestion,
    paths: pd.DataFrame,
    ends: tuple[Path, ...],
    picked: int,
    value: float,
) -> None:
    """Show the select box for a path, the effect of cutting the chosen path, and the attention row that carries it."""
    names = [
        f"{number}. {row['from']} → {row.to} ({typeset(row.predicted, '+.2f')})"
        for number, (_, row) in enumerate(paths.iterrows(), start=1)
    ]
    key = key_for("graph_path", names)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Path",
            range(len(names)),
            key=preset(key, picked),
            format_func=names.__getitem__,
            on_change=lambda: session.update(GraphParams, path=st.session_state[key], cut=False),
        )
        st.toggle(
            "Switch this path off",
            **bind(GraphParams, "cut"),
            help="The receiver's input no longer contains the sender's output. All other components still receive it.",
        )
    sender, receiver = ends[picked]
    predicted = float(paths.predicted.iloc[picked])
    if session.params(GraphParams).cut:
        found = float(reading.runs.get(PathEffectsRun(reading.details_run, question.target, (ends[picked],)))[0])
        st.markdown(
            f"**Predicted:** without this path, {'the difference' if question.other else 'the logit'} of "
            f"{typeset(value, '.2f')} changes by **{typeset(-predicted, '+.3f')}**. **Measured:** "
            f"{typeset(-found, '+.3f')}."
        )
    node = receiver if receiver.kind == "head" else sender
    if node.place is None or node.place.kind is None or node.head is None:
        st.caption("No attention map carries this path: both ends are at the same token.")
        return
    kind, layer, head, query = node.place.kind, node.place.layer, node.head, node.position
    weights = reading.trace.attention(kind)[layer, head, query]
    labels = question.source if kind != "decoder" else question.prefix
    st.markdown(
        f"The row of “{markdown(question.label(node.stack, query))}” in "
        f"{linked_head(kind, layer, head, reading.maps, query)}"
        + (" carries this path:" if node is receiver else " shows where the path's sender looked:")
    )
    show_altair(
        matrix(
            weights[None],
            [question.label(node.stack, query)],
            labels,
            name="weight",
            scale=sequential(),
            legend=False,
            marks=("weight", np.array([[f"{each:.2f}" for each in weights]])),
        ).properties(height=130),
        key="graph_row",
        alt=f"Row of {TITLES[kind].lower()} {layer + 1}.{head + 1} that carries the path.",
    )
    if node is receiver:
        st.button(
            "Why does it look there?",
            icon=":material/help_center:",
            **setting(GraphParams, part="score", kind=kind, layer=layer, head=head, query=query, key=sender.position),
        )


def _show_conclusion(reading: TracedReading) -> None:
    """Show how reliable a path's predicted effect is, according to recorded measurements."""
    if reading.translator is None:
        st.caption(
            "A path is a hypothesis until it is cut. Predictions were compared with cuts over many sentences only for "
            "translators."
        )
        return
    recorded = measured(PATHS, reading.translator)
    if recorded is None:
        offer_measuring(
            PATHS,
            reading.translator,
            path_statistics,
            label="Measure over 50 sentences",
            turns=LONG_RUNS,
            missing="It was not measured how well the graph predicts the effects of cuts in this model.",
        )
        return
    st.markdown(describe_conclusion(recorded))
    st.caption(
        f"Measured on one random token in each of {recorded.sentences} sentences, with {recorded.paths:.0f} paths per "
        f"token; 95% intervals by bootstrap. Computed by `{PATHS.beside(reading.translator).command}`."
    )


def describe_conclusion(recorded: PathStatistics) -> str:
    """Return Markdown with the conclusion that the recorded measurements allow, and the numbers behind it."""
    difference, logit, sign = (
        f"{typeset(float(each.mean), '.2f')} ({typeset(float(each.low), '.2f')} to {typeset(float(each.high), '.2f')})"
        for each in (recorded.difference, recorded.logit, recorded.sign)
    )
    return (
        "**You may conclude** that a thick path for one token *against another* is worth cutting. Only the cut shows "
        "whether the model needs the path. Predicted and measured effects have a rank correlation of "
        f"**{difference}**, and a share of **{sign}** has the same sign. For a single logit, the correlation is only "
        f"**{logit}**."
    )
