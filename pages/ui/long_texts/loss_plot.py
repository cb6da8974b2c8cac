"""Plots the held-out losses of small models that differ only in the kind of attention."""

import altair as alt
import pandas as pd
import streamlit as st

from pages.ui.charts.matrix import AXIS
from pages.ui.charts.tables import show_table
from pages.ui.components.save_as import show_altair
from pages.ui.layout.roles import main_figure
from pages.ui.long_texts.names import NAMES, colour, shape
from pages.ui.measurements.recordings import read_record
from pages.ui.text.glossary import explain
from transformer.config import Attention, decoder_only
from transformer.files.paths import ASSETS
from transformer.language_modelling import cost
from transformer.language_modelling.attention_losses import RecordedLosses, mean_and_spread
from transformer.language_modelling.cost import ATTENTIONS

FILE = ASSETS / "attention_losses.json"


def show_losses() -> None:
    """Show a chart and a table of the held-out losses, and describe how the models were trained."""
    recorded = read_record(FILE, RecordedLosses.from_json)
    if recorded is None or not recorded.losses:
        st.warning(
            "The losses of the three kinds of attention have not been measured. To measure them, run "
            "`python -m transformer.training compare-attention`."
        )
        return
    with main_figure(
        "**Held-out loss of small models that differ only in their attention**", describe_losses(recorded)
    ):
        show_altair(
            loss_chart(recorded),
            key="long_losses",
            alt="Held-out loss of models with full, local and compressed attention; the table has the numbers.",
            sentence="",
        )
    st.markdown(describe_losses(recorded), help=explain("loss", "nats", "seed"))
    show_table(loss_table(recorded), "long_loss_numbers", digits=3)
    seeds = len({loss.seed for loss in recorded.losses})
    caution = (
        "One seed proves little: another seed changes each number by a few hundredths."
        if seeds == 1
        else f"Each model was trained with {seeds} seeds, and each point is the loss with one seed. Ignore differences "
        "that are no larger than those between seeds."
    )
    st.caption(
        f"Each model: {recorded.model}. Training: {recorded.training}, with the same texts in the same order. The "
        f"context has {recorded.context} tokens, a block has {recorded.block}, and a compressed key covers "
        f"{recorded.stride}. The {recorded.tokens:,} held-out tokens are unrelated everyday sentences, so little "
        "depends on distant tokens. In a text that is coherent over several pages, local attention can do worse. "
        f"{caution} Models this small, trained this briefly, show the direction of an effect, not its size. Measured "
        f"on {recorded.machine}. To repeat the measurement, run `{recorded.command}`."
    )


def loss_table(recorded: RecordedLosses) -> pd.DataFrame:
    """Return a table of the held-out losses with one row per kind of attention."""
    rows = []
    for attention in ATTENTIONS:
        models = recorded.of(attention)
        if models:
            held_out, spread = mean_and_spread([model.held_out for model in models])
            rows.append(
                {
                    "attention": NAMES[attention],
                    "held-out loss, nats per token": held_out,
                    "largest deviation (±)": spread,
                    "models trained": len(models),
                    "parameters": models[0].parameters,
                    f"cells for {recorded.context} tokens": cells(recorded, attention),
                }
            )
    return pd.DataFrame(rows)


def cells(recorded: RecordedLosses, attention: Attention) -> int:
    """Return how many attention weights a head computes for a context of full length."""
    config = decoder_only(
        vocabulary=1, attention=attention, block=recorded.block, stride=recorded.stride, max_positions=recorded.context
    )
    return cost.cell_count(config, recorded.context)


def loss_chart(recorded: RecordedLosses) -> alt.Chart:
    """Return a chart of the held-out losses with one point per model and one row per kind of attention."""
    table = pd.DataFrame(
        [{"attention": NAMES[loss.attention], "loss": loss.held_out, "seed": loss.seed} for loss in recorded.losses]
    )
    return (
        alt.Chart(table)
        .mark_point(size=220, filled=True, opacity=0.8)
        .encode(
            x=alt.X(
                "loss:Q",
                title="held-out loss (nats per token); lower is better",
                scale=alt.Scale(zero=False, padding=20),
                axis=alt.Axis(format=".2f", tickCount=6, **AXIS),
            ),
            y=alt.Y("attention:N", title=None, sort=list(NAMES.values()), axis=alt.Axis(**AXIS)),
            tooltip=["attention:N", "seed:Q", alt.Tooltip("loss:Q", format=".3f")],
            color=colour(legend=None),
            shape=shape(legend=None),
        )
        .properties(height=230)
    )


def describe_losses(recorded: RecordedLosses) -> str:
    """Return sentences that compare full attention with the other kinds, by number of cells and held-out loss."""
    means: dict[Attention, float] = {
        attention: mean_and_spread([model.held_out for model in recorded.of(attention)])[0]
        for attention in ATTENTIONS
        if recorded.of(attention)
    }
    if "full" not in means:
        return ""
    sizes = {"local": f", in blocks of {recorded.block},", "compressed": f", with {recorded.stride} tokens per key,"}
    full_cells = cells(recorded, "full")
    others = [
        f"{NAMES[each]} attention{sizes[each]} computes {cells(recorded, each) / full_cells:.0%} of these cells, and "
        f"its loss is {abs(mean - means['full']):.2f} {'higher' if mean > means['full'] else 'lower'}."
        for each, mean in means.items()
        if each != "full"
    ]
    return " ".join(
        (
            f"Full attention has a held-out loss of {means['full']:.2f} nats per token; each of its heads computes "
            f"{full_cells:,} cells for a context of {recorded.context} tokens.",
            *others,
        )
    )
