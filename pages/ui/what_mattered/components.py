"""Shows every decoder component's direct contribution to the predicted word's logit, as sorted bars."""

from collections.abc import Callable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.charts.matrix import AXIS, PICK, labelled_axis
from pages.ui.charts.palette import PALETTE
from pages.ui.charts.series import series_colour
from pages.ui.charts.tables import show_numbers
from pages.ui.components.experiment import embed_experiment
from pages.ui.heads.kinds import head_markdown_link, open_button, show_heads_chart
from pages.ui.layout.roles import main_figure
from pages.ui.params.what_mattered import MatteredParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import typeset
from pages.ui.what_mattered.export import save_buttons
from pages.ui.what_mattered.picker import pick_question
from pages.ui.what_mattered.question import AttributionQuestion
from pages.ui.what_mattered.strip import columns_of
from transformer.attribution.direct_logits import Component, DirectLogits
from transformer.running.runs.attribution import DirectLogitsRun
from transformer.values.trace import Kind

# Maximum number of bars, on the page and in lecture mode, unless the user asks for all.
LARGEST, LARGEST_IN_LECTURE = 20, 10
GROUPS = ("embedding and position", "masked attention", "cross attention", "feed-forward", "bias", "all others")
KINDS_OF_HEADS: dict[str, Kind] = {"self-attention head": "decoder", "cross-attention head": "cross"}


def show_components(reading: Reading) -> None:
    """Show the direct contributions as sorted bars that add up to the logit."""
    if reading.translator.config.norm != "pre":
        st.info("Only in a pre-norm model does each component add to the logits directly; this model is post-norm.")
        return
    question = pick_question(reading)
    experiment = embed_experiment(reading.runs, run := DirectLogitsRun(reading.run, question.target))
    contributions = reading.runs.get(run)
    table = component_table(contributions)
    st.markdown(
        describe_components(question, contributions, table, component_name=linked_component),
        help=explain("logit", "head"),
    )
    shows_all = session.params(MatteredParams).components
    st.toggle(f"All {len(table)} components", **bind(MatteredParams, "components"))
    first = table.iloc[0]
    with main_figure(
        f"Who wrote {question.explained}? {markdown(reading.trace.source_text)}",
        f"Largest contribution: {first.component}, {typeset(first.score, '+.2f')}; all bars add up to the logit",
    ):
        show_heads_chart(
            lambda large: component_chart(
                table if shows_all else largest(table, LARGEST_IN_LECTURE if large else LARGEST)
            ),
            None,
            "mattered_bars",
            "Sorted bars of every component's contribution to the logit; the table below has the numbers.",
        )
    st.caption(
        "The embedding, every head and every feed-forward network add a vector to the decoder's residual stream. The "
        "logit is therefore a sum with one part per component: all bars add up to the logit. Click a head's bar to "
        "open the head. The encoder has no bar, because its output reaches the stream through the cross-attention "
        "heads. Only direct contributions count, not a component's effect on later components.",
        help=explain("logit", "residual stream", "head", "feed-forward"),
    )
    heads = table[table.kind != ""]
    if len(heads):
        top = heads.iloc[int(heads.score.abs().to_numpy().argmax())]
        open_button(top.kind, int(top.layer) - 1, int(top["head"]) - 1)
    numbers = columns_of(table, "component", "score")
    show_numbers(numbers, "mattered_component_numbers", digits=4)
    save_buttons(
        reading, experiment, question, numbers.assign(method="direct logit attribution", unit="logit"), "components"
    )


def component_table(contributions: DirectLogits) -> pd.DataFrame:
    """Return a table with one row per component, largest score first.

    Returns:
        A table with the columns component, group (one of GROUPS), score, kind, layer and head. Layer and head are
        1-based. For a component that is not a head, the kind is empty, and layer and head are 0.
    """
    rows = []
    for component, score in zip(contributions.components, contributions.scores[0].tolist(), strict=True):
        kind = KINDS_OF_HEADS.get(component.kind, "")
        rows.append(
            {
                "component": component_title(component),
                "group": _group(component),
                "score": score,
                "kind": kind,
                "layer": component.layer + 1 if kind and component.layer is not None else 0,
                "head": component.head + 1 if component.head is not None else 0,
            }
        )
    return pd.DataFrame(rows).sort_values("score", ascending=False, kind="stable", ignore_index=True)


def largest(table: pd.DataFrame, count: int = LARGEST) -> pd.DataFrame:
    """Return the rows with the largest magnitudes, and one row with the sum of the remaining rows."""
    order = np.argsort(-table.score.abs().to_numpy(), kind="stable")
    top, rest = table.iloc[sorted(order[:count])], table.iloc[order[count:]]
    if rest.empty:
        return table
    others = {
        "component": f"{len(rest)} others together",
        "group": "all others",
        "score": float(rest.score.sum()),
        "kind": "",
        "layer": 0,
        "head": 0,
    }
    return pd.concat([top, pd.DataFrame([others])], ignore_index=True)


def component_chart(table: pd.DataFrame) -> alt.Chart:
    """Return a bar chart of a `component_table`. Clicking a bar sets the selection PICK to its kind, layer and head."""
    bars = table.assign(at=range(1, len(table) + 1))
    axis, names = labelled_axis("component_labels", table.component.tolist(), labelLimit=200, labelFontSize=11)
    return (
        alt.Chart(bars)
        .mark_bar(cursor="pointer")
        .encode(
            y=alt.Y("at:O", title=None, axis=axis),
            x=alt.X("score:Q", title="contribution to the logit", axis=alt.Axis(**{**AXIS, "grid": True})),
            color=series_colour("group", _colours(), columns=3, symbolLimit=0),
            tooltip=["component:N", alt.Tooltip("score:Q", format=".4f")],
        )
        .add_params(alt.selection_point(name=PICK, fields=["kind", "layer", "head"], toggle=False), names)
        .properties(height=120 + 18 * len(table), usermeta={"embedOptions": {"renderer": "svg"}})
    )


def linked_component(row: Any) -> str:
    """Return Markdown for the component in a row of a `component_table`; a head becomes a link."""
    if not row.kind:
        return f"**{row.component}**"
    return head_markdown_link(row.kind, int(row.layer) - 1, int(row["head"]) - 1)


def describe_components(
    question: AttributionQuestion,
    contributions: DirectLogits,
    table: pd.DataFrame,
    *,
    component_name: Callable[[Any], str] = lambda row: f"**{row.component}**",
) -> str:
    """Return Markdown that states the sum of all contributions, and names the largest and the most negative one.

    Args:
        component_name: returns the name of a row's component.
    """
    what = (
        "difference between the logits"
        if question.other
        else ("logit" if len(question.target.positions) == 1 else "sum of the logits")
    )
    total, summed = float(contributions.logits[0]), float(table.score.sum())
    groups = table.groupby("group").score.sum().sort_values(ascending=False)
    first, last = table.iloc[0], table.iloc[-1]
    return (
        f"{question.explained[0].upper()}{question.explained[1:]}: the {len(table)} components add up to "
        f"**{typeset(summed)}**, which is the {what} (to within {typeset(abs(summed - total), '.0e')}). The largest "
        f"contribution comes from {component_name(first)} ({typeset(first.score, '+.2f')})"
        + (
            f", the most negative one from {component_name(last)} ({typeset(last.score, '+.2f')})"
            if last.score < 0
            else ""
        )
        + ". By kind: "
        + ", ".join(f"{name} {typeset(score, '+.2f')}" for name, score in groups.items())
        + "."
    )


def component_title(component: Component) -> str:
    """Return a component's display name, with 1-based layer and head."""
    if component.layer is None:
        return component.kind
    layer = component.layer + 1
    if component.head is None:
        return f"{_kind_name(component.kind)}, layer {layer}"
    return f"{_kind_name(component.kind)}, layer {layer}, head {component.head + 1}"


def _group(component: Component) -> str:
    if component.kind in ("token embedding", "position"):
        return GROUPS[0]
    if component.kind.endswith("bias"):
        return "bias"
    return _kind_name(component.kind)


def _kind_name(kind: str) -> str:
    """Return the display name of a decoder component's kind, such as "masked attention" for self-attention."""
    name = kind.removesuffix(" head").replace("cross-attention", "cross attention")
    return name.replace("self-attention", "masked attention")


def _colours() -> dict[str, str]:
    blue, orange, green, pink, bias, _, grey, _ = PALETTE["heads"]
    return dict(zip(GROUPS, (pink, blue, orange, green, bias, grey), strict=True))
