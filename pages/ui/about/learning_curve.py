"""Charts of the model's learning curve: loss and translation quality over the training steps."""

from collections.abc import Mapping
from io import StringIO

import altair as alt
import pandas as pd
import streamlit as st

from pages.ui.charts.matrix import AXIS
from pages.ui.charts.palette import FIRST, SECOND
from pages.ui.charts.series import series_colour
from pages.ui.charts.tables import show_numbers
from pages.ui.components.save_as import show_altair
from pages.ui.layout.roles import main_figure
from pages.ui.text.glossary import explain

LOSS = {"training_loss": "training", "validation_loss": "held out"}
QUALITY = {"validation_chrf": "held out"}
COLOURS = {"training": SECOND, "held out": FIRST}


def show_learning(curve: str) -> None:
    """Show the loss chart, the chrF chart, and a table of the steps at which loss and chrF were both measured.

    Args:
        curve: the learning curve as CSV text, from `transformer.checkpoints.checkpoint.Checkpoint.curve`.
    """
    table = pd.read_csv(StringIO(curve))
    st.markdown("**How it learned**", help=explain("loss", "label smoothing", "dropout", "epoch", "chrF"))
    with main_figure("**How this model learned:** loss over the training steps"):
        show_altair(
            learning_chart(table, LOSS, "loss, nats per token"),
            key="about_loss",
            alt="Loss over the training steps; the table lists the values.",
            sentence="",
        )
    show_altair(
        learning_chart(table, QUALITY, "chrF, 0 to 100"),
        key="about_chrf",
        alt="chrF on held-out sentences over the training steps; the table lists the values.",
        sentence="",
    )
    st.caption(
        "The loss is cross-entropy with label smoothing; the training loss includes dropout and is the mean over a "
        "few batches. chrF is measured on greedy translations of some held-out sentences. Loss and chrF are measured "
        "with the weights at the given step, before any checkpoint averaging."
    )
    names = {
        "step": "step",
        "epoch": "epoch",
        **{column: f"loss, {name}" for column, name in LOSS.items()},
        "validation_chrf": "chrF",
    }
    show_numbers(table.dropna().filter(list(names)).rename(columns=names), "about_curve", digits=2)


def learning_chart(table: pd.DataFrame, lines: Mapping[str, str], unit: str) -> alt.Chart:
    """Return a line chart of the given learning-curve columns over the training steps.

    Args:
        table: a learning curve with the columns `transformer.checkpoints.learning_curve.FIELDS`.
        lines: the columns to draw. Each column name maps to a label, which must be a key of COLOURS.
        unit: the title of the vertical axis.
    """
    long = table.rename(columns=lines).melt("step", list(lines.values()), "of", "value").dropna()
    # Loss lines start high on the left and fall, so a legend in the top right corner covers no line.
    colour = series_colour("of", {name: COLOURS[name] for name in lines.values()}, orient="top-right")
    several = len(lines) > 1
    return (
        alt.Chart(long)
        .mark_line()
        .encode(
            x=alt.X("step:Q", axis=alt.Axis(tickCount=5, **AXIS)),
            y=alt.Y("value:Q", title=unit, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5, **AXIS)),
            color=colour if several else colour.legend(None),
            tooltip=["of:N", "step:Q", alt.Tooltip("value:Q", title=unit, format=".2f")],
        )
        .properties(height=320 if several else 230)
    )
