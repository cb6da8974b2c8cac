"""Shows a predicted token's attribution graph, with the predicted and the measured effects of its paths."""

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.charts.downloads import save_tables
from pages.ui.charts.matrix import PICK, matrix
from pages.ui.charts.palette import sequential
from pages.ui.charts.tables import show_numbers
from pages.ui.components.experiment import embed_experiment, experiment_buttons
from pages.ui.components.save_as import show_altair
from pages.ui.heads.head_reading import TracedReading
from pages.ui.heads.kinds import head_markdown_link
from pages.ui.how_it_came_about.drawing import MEASURED_EFFECT, PREDICTED_EFFECT, graph_chart
from pages.ui.how_it_came_about.question import PathQuestion, pick_question
from pages.ui.how_it_came_about.tables import bias_table, node_table, path_table
from pages.ui.layout.roles import main_figure
from pages.ui.measurements.local_measurement import model_record, offer_measurement
from pages.ui.measurements.recordings import PATHS
from pages.ui.params.how_it_came_about import GraphParams
from pages.ui.params.pages import PAGES
from pages.ui.runs.inference import LONG_RUNS
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import bind, bind_number, key_for, preset, setting
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import typeset
from transformer.ablation.estimate import rank_correlation
from transformer.attribution.graph import AttributionGraph, Path, PrunedGraph, prune
from transformer.measurements.paths import PathStatistics, path_statistics
from transformer.running.runs.graph import GraphRun, PathEffectsRun


def show_graph(reading: TracedReading) -> None:
    """Show the graph, one path that the user can cut, and the conclusions that the measurements allow."""
    # Keep the controls and the text compact, because the graph is tall.
    top = st.container(gap="xsmall")
    with top.container(horizontal=True, vertical_alignment="bottom"):
        question = pick_question(reading)
        st.number_input("Maximum nodes", step=5, width=140, **bind_number(GraphParams, "most"))
        place = st.container(width="content")
    try:
        experiment = embed_experiment(reading.runs, graph_run := GraphRun(reading.details_run, question.target))
        graph = reading.runs.get(graph_run)
    except ValueError as error:
        st.info(f"{str(error)[0].upper()}{markdown(str(error)[1:])}.")
        raise PageEnd from None
    params = session.params(GraphParams)
    pruned = prune(graph, params.most)
    nodes, paths = node_table(graph, pruned, question), path_table(graph, pruned, question)
    ends = graph.paths(pruned.edges)
    if params.every:
        paths["measured"] = reading.runs.get(PathEffectsRun(reading.details_run, question.target, ends))
    picked = params.path if 0 <= params.path < len(ends) else _first_head_path(ends)
    cut = ends if params.every else ends[picked : picked + 1] if params.cut else ()
    if cut:
        cuts = PathEffectsRun(reading.details_run, question.target, cut)
        experiment = embed_experiment(reading.runs, graph_run, cuts)
    top.markdown(describe_graph(question, graph, pruned, paths), help=explain("logit", "head", "feed-forward"))
    place.toggle(
        f"Cut each of the {len(ends)} paths in turn and measure the effect",
        **bind(GraphParams, "every"),
        help="For each path, the model runs once with only this path cut.",
    )
    with main_figure(
        f"How {markdown(question.explained)} came about: {markdown(reading.trace.text)}",
        f"{'Measured' if params.every else 'Predicted'} effects; the connections not shown carry {1 - pruned.kept:.0%} "
        "of the total predicted effect",
        rows=2,
    ):
        # Streamlit stores a chart's last click under the chart's key. A new key for each path discards the old click.
        key = f"graph_drawing_{picked}"
        show_altair(
            graph_chart(graph, pruned, question, nodes, paths, picked),
            key=key,
            selection_mode=PICK,
            on_select=lambda: _pick(key, len(ends)),
            alt="Graph of the model components that produced a predicted token; the tables below list the values.",
        )
    # Edges from biases are listed, but never cut, because biases do not depend on the sentence.
    all_paths = pd.concat((paths, bias_table(graph, pruned, question)), ignore_index=True)
    all_paths = all_paths.rename(columns={"predicted": PREDICTED_EFFECT, "measured": MEASURED_EFFECT})
    # Streamlit remembers by key whether an expander is open. The expander with measured effects has its own key, so
    # that it is open at first.
    show_numbers(
        all_paths,
        "graph_paths_measured" if params.every else "graph_paths",
        label="The paths",
        digits=4,
        opened=params.every,
    )
    if ends:
        _show_path(reading, question, paths, ends, picked, float(graph.values[-1]))
    concluded = _show_conclusion(reading)
    with st.expander("Details"):
        st.markdown("  \n".join(filter(None, (describe_details(graph, pruned, paths), concluded))))
    numbers = nodes.drop(columns=["x", "y", "short"])
    show_numbers(numbers, "graph_nodes", label="The nodes and their values", digits=4)
    if reading.translator is not None:
        st.page_link(
            PAGES["patch"].script,
            label="Patch the step that writes this token",
            icon=":material/swap_horiz:",
            query_params=session.address_on(
                "patch", {**session.address(), "patch_step": str(question.target.positions[0] + 1)}
            ),
        )
    with save_tables(
        "how-it-came-about",
        "graph",
        {
            "sentence": reading.trace.source_text,
            "text": reading.trace.target_text,
            "model": reading.trace.model,
            "position": question.target.positions[0],
            "against": question.target.against and question.target.against[0],
            "threshold": pruned.threshold,
            "kept": pruned.kept,
        },
        {"paths": all_paths, "nodes": numbers},
    ):
        experiment_buttons(reading.runs, experiment, "graph")


def describe_graph(question: PathQuestion, graph: AttributionGraph, pruned: PrunedGraph, paths: pd.DataFrame) -> str:
    """Return Markdown that states the explained logit, what the graph leaves out, and how well predicted
    effects match measured effects.
    """
    what = "The logit of" if not question.other else "The logit difference for"
    return (
        f"{what} {markdown(question.explained)} is **{typeset(graph.values[-1], '.2f')}**. This graph leaves out "
        f"**{1 - pruned.kept:.0%}** of the predicted effects: edges below {typeset(pruned.threshold, '.2f')} logits, "
        f"and components that reach the token only through such edges. {describe_disagreement(paths)}"
    )


def describe_disagreement(paths: pd.DataFrame) -> str:
    """Return Markdown that states how far predicted and measured effects differ, or that all effects are predicted."""
    if "measured" not in paths or paths.empty:
        return "The line widths show **predicted** effects: a path is a hypothesis until it is cut."
    worst = paths.loc[(paths.predicted - paths.measured).abs().idxmax()]
    opposite = int((paths.predicted * paths.measured < 0).sum())
    return (
        "The line widths show effects **measured** by cutting each path. The largest disagreement is "
        f"{markdown(worst['from'])} → {markdown(worst['to'])}: predicted **{typeset(worst.predicted, '+.2f')}**, "
        f"measured **{typeset(worst.measured, '+.2f')}**. Of {len(paths)} paths, **{opposite}** "
        f"{'has' if opposite == 1 else 'have'} a measured effect of the opposite sign."
    )


def describe_details(graph: AttributionGraph, pruned: PrunedGraph, paths: pd.DataFrame) -> str:
    """Return Markdown that states how exact the sums are, and what fraction of all effects the graph shows."""
    description = (
        "The value of every node with incoming edges is the sum of these edges, here to within "
        f"{typeset(graph.error().max(), '.0e')}. The {len(pruned.edges)} solid edges carry {pruned.kept:.0%} of the "
        "total effect; signs are ignored. Dotted edges come from biases and are never cut. The direct effect of the "
        f"biases on the token is {typeset(graph.biases[-1], '+.2f')}."
    )
    if "measured" in paths and len(paths) > 2:
        correlation = rank_correlation(paths.predicted.to_numpy(), paths.measured.to_numpy())
        description += (
            f" Here the rank correlation between predicted and measured effects is **{typeset(correlation)}**."
        )
    return description


def _first_head_path(ends: tuple[Path, ...]) -> int:
    """Return the index of the first path that ends in a head; 0 if there is none. Only heads have attention maps."""
    return next((index for index, (_, receiver) in enumerate(ends) if receiver.kind == "head"), 0)


def _pick(key: str, paths: int) -> None:
    """Callback for a click on an edge: select the edge's path, without cutting it.

    Args:
        key: the key of the chart.
        paths: the number of paths that can be cut. Edges are numbered from 1; higher numbers are edges from bias nodes.
    """
    points = st.session_state[key].selection[PICK]
    # Ignore edges from bias nodes, which cannot be cut.
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
    """Show a select box for the path, the effect of cutting it, and the attention row of the path's last head."""
    names = [
        f"{number}. {row['from']} → {row.to} (predicted {typeset(row.predicted, '+.2f')})"
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
            "Cut this path",
            **bind(GraphParams, "cut"),
            help="The sender's output is removed from the receiver's input, and from no other component's input.",
        )
    sender, receiver = ends[picked]
    predicted = float(paths.predicted.iloc[picked])
    if session.params(GraphParams).cut:
        measured = float(reading.runs.get(PathEffectsRun(reading.details_run, question.target, (ends[picked],)))[0])
        st.markdown(
            f"**Measured:** the path adds **{typeset(measured, '+.3f')}** to the "
            f"{'difference' if question.other else 'logit'} of {typeset(value, '.2f')}. Cutting the path removes "
            f"this amount. Predicted: {typeset(predicted, '+.3f')}."
        )
    node = receiver if receiver.kind == "head" else sender
    if node.place is None or node.place.kind is None or node.head is None:
        st.caption("No attention map carries this path, because both ends are at the same token.")
        return
    kind, layer, head, query = node.place.kind, node.place.layer, node.head, node.position
    weights = reading.trace.attention(kind)[layer, head, query]
    labels = question.source if kind != "decoder" else question.prefix
    st.markdown(
        f"The row of “{markdown(question.label(node.stack, query))}” in "
        f"{head_markdown_link(kind, layer, head, reading.maps, query)} shows "
        + ("the attention that carries this path:" if node is receiver else "where the sender of this path looked:")
    )
    show_altair(
        matrix(
            weights[None],
            [question.label(node.stack, query)],
            labels,
            name="weight",
            scale=sequential(),
            legend=False,
            marks=("weight", np.array([[f"{weight:.2f}" for weight in weights]])),
        ).properties(height=130),
        key="graph_row",
        alt=f"The path's attention row, in {TITLES[kind].lower()}, layer {layer + 1}, head {head + 1}.",
    )
    if node is receiver:
        st.button(
            "Why does this head look there?",
            icon=":material/help_center:",
            **setting(GraphParams, part="score", kind=kind, layer=layer, head=head, query=query, key=sender.position),
        )


def _show_conclusion(reading: TracedReading) -> str:
    """Show what may be concluded from predicted effects; return Markdown with recorded measurements, if any exist."""
    if reading.translator is None:
        st.caption("Predicted and measured effects were compared over many sentences, but only for translators.")
        return ""
    recorded = model_record(PATHS, reading.translator)
    if recorded is None:
        offer_measurement(
            PATHS,
            reading.translator,
            path_statistics,
            label="Measure over 50 sentences",
            turns=LONG_RUNS,
            missing="How well the graph predicts the effects of cuts has not been measured for this model.",
        )
        return ""
    st.markdown(
        "**You may conclude** that a thick path is worth cutting if the graph explains one token *against another*. "
        "Only the cut shows whether the model needs this path."
    )
    return describe_recorded(recorded, PATHS.beside(reading.translator).command)


def describe_recorded(recorded: PathStatistics, command: str) -> str:
    """Return Markdown that states how well predicted effects agreed with measured effects over many sentences.

    Args:
        recorded: the measurements.
        command: the command that recorded the measurements.
    """
    difference, logit, sign = (
        f"{typeset(float(each.mean), '.2f')} ({typeset(float(each.low), '.2f')} to {typeset(float(each.high), '.2f')})"
        for each in (recorded.difference, recorded.logit, recorded.sign)
    )
    return (
        f"Over {recorded.sentences} sentences, predicted and measured effects have a mean rank correlation of "
        f"**{difference}**. The fraction of paths whose two effects have the same sign is **{sign}**. For a single "
        f"logit, the correlation is only **{logit}**. Each sentence contributes one random token, with "
        f"{recorded.paths:.0f} paths on average. The ranges are bootstrapped 95% confidence intervals. Computed by "
        f"`{command}`."
    )
