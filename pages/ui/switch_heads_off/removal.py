"""Shows how many heads the model needs for one sentence and for many sentences, by removing more and more heads."""

import math
from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.charts.palette import FIRST, SECOND
from pages.ui.charts.series import against_random
from pages.ui.charts.tables import show_numbers
from pages.ui.components.experiment import embed_experiment
from pages.ui.components.save_as import show_altair
from pages.ui.layout.roles import main_figure
from pages.ui.measurements.recordings import REMOVAL
from pages.ui.params.switch_heads_off import OffParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.switch_heads_off.export import save_tables
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.modes import MODES
from pages.ui.text.number_format import typeset
from transformer.ablation.importance import ImportanceRun
from transformer.ablation.removal import RemovalCurve, RemovalRun
from transformer.measurements.removal import RemovalQuality
from transformer.values.interventions import Interventions, head_name

MEASURED, GRADIENT, RANDOM = "least important first, measured", "least important first, by gradient", "random order"
# Display names of the removal orders in recorded measurements, by `Quality.order`.
RECORDED = {"measured": MEASURED, "gradient": GRADIENT}
# For one sentence, heads can be removed until the translation loses more than half of its probability
# (HALF_PROBABILITY, in nats). Over many sentences, the limit is a BLEU of SCORE_SHARE times the intact model's BLEU.
HALF_PROBABILITY, SCORE_SHARE = math.log(2), 0.9
# Number of random removal orders for one sentence.
SEEDS = 3


def show_removal(reading: Reading) -> None:
    """Show recorded results over many sentences and, on request, how scores fall as heads are removed."""
    params = session.params(OffParams)
    st.subheader("How many heads does the model need?", anchor=False)
    recording = REMOVAL.beside(reading.translator)
    recorded = recording.of_model(reading.translator.version)
    if recorded:
        st.markdown(describe_quality(recorded), help=explain("BLEU"))
    st.toggle(
        "Remove one head after another, and measure the effect on this sentence",
        help="Measures every head on its own, then removes one head after another, in five different orders. This "
        "takes several seconds for a short sentence, and half a minute or more for a long one.",
        **bind(OffParams, "removal"),
    )
    if params.removal:
        _show_sentence(reading, params)
    if not recorded:
        st.caption(recording.missing("The change in BLEU over many sentences when heads are removed has"))
    elif params.removal:
        _show_recorded(recorded)


def _show_sentence(reading: Reading, params: OffParams) -> None:
    names = (MEASURED, GRADIENT, *(f"{RANDOM}, {seed + 1}" for seed in range(SEEDS)))
    importance = ImportanceRun(reading.run, params.mode, **params.drawn)
    experiment = embed_experiment(reading.runs, run := RemovalRun(importance, SEEDS))
    curves = dict(zip(names, reading.runs.get(run), strict=True))
    table = curve_table({name: curve.log_probs for name, curve in curves.items()}, range(_head_count(curves) + 1))
    st.markdown(describe_removal(curves), help=explain("head", "gradient", "log-probability", "nats"))
    with main_figure(
        f"**How many heads does the model need?** {markdown(reading.trace.source_text)}",
        f"{removable_steps(curves[MEASURED].log_probs, curves[MEASURED].log_probs[0] - HALF_PROBABILITY)} of "
        f"{_head_count(curves)} heads can go, least important first, before the translation is less than half as "
        "likely",
    ):
        show_altair(
            removal_chart(table, "log-probability, nats"),
            key="off_removal",
            alt="Log-probability of the translation against the number of heads removed; the table has the numbers.",
        )
    st.caption(
        "The same translation is scored each time. Each removed head is replaced by "
        f"{MODES[params.mode]}{' (the first draw)' if params.drawn else ''}. The least important head is the one whose "
        "removal, on its own, leaves the translation most likely. Ranking heads in this way ignores teamwork: two "
        "heads together can be worth more than the sum of their separate effects.",
        help=explain("log-probability", "nats"),
    )
    numbers = removal_table(curves)
    show_numbers(numbers, "off_removal_numbers", digits=3, label="The numbers for every order of removal")
    save_tables(reading, experiment, Interventions(mode=params.mode), numbers, "heads_removed", **params.drawn)


def _show_recorded(recorded: RemovalQuality) -> None:
    for column, score in zip(st.columns(2, gap="large"), ("BLEU", "chrF"), strict=True):
        with column:
            show_altair(
                removal_chart(quality_table(recorded, score), score),
                key=f"off_quality_{score.lower()}",
                sentence="",
                alt=f"{score} against the number of heads removed; the table has the numbers.",
            )
    st.caption(describe_origin(recorded), help=explain("BLEU", "chrF"))
    points = pd.DataFrame([vars(point) for point in recorded.points])
    show_numbers(points, "off_quality_numbers", digits=2, label="The recorded scores")


def curve_table(values: Mapping[str, Sequence[float] | np.ndarray], removed: Sequence[int]) -> pd.DataFrame:
    """Return a table with the columns "order", "removed" and "value"; each row is a point on a curve.

    Orders other than MEASURED and GRADIENT are random.
    """
    return pd.DataFrame(
        [
            {"order": order, "removed": gone, "value": float(value)}
            for order, curve in values.items()
            for gone, value in zip(removed, curve, strict=True)
        ]
    )


def quality_table(recorded: RemovalQuality, score: str) -> pd.DataFrame:
    """Return the recorded BLEU or chrF scores as a `curve_table`."""
    return pd.DataFrame(
        [
            {
                "order": RECORDED.get(point.order, point.order),
                "removed": point.removed,
                "value": getattr(point, score.lower()),
            }
            for point in recorded.points
        ]
    )


def removal_table(curves: Mapping[str, RemovalCurve]) -> pd.DataFrame:
    """Return a table with one row per curve and number of removed heads.

    The columns are the order, the number of removed heads, the last removed head in command-line notation, and the
    log-probability.
    """
    return pd.DataFrame(
        [
            {
                "order": name,
                "removed": gone,
                "last removed": head_name(curve.order[gone - 1]) if gone else "",
                "log-probability": float(value),
            }
            for name, curve in curves.items()
            for gone, value in enumerate(curve.log_probs)
        ]
    )


def removal_chart(table: pd.DataFrame, unit: str) -> alt.LayerChart:
    """Return a line chart of a `curve_table`, with a band for the range of values over the random orders."""
    colours = {MEASURED: SECOND, GRADIENT: FIRST}
    return against_random(table, "removed", colours, title="heads removed", unit=unit)


def removable_steps(values: Sequence[float] | np.ndarray, least: float) -> int:
    """Return how many heads can be removed before `values` fall below `least`; `values[n]` is for n removed heads."""
    below = np.flatnonzero(np.asarray(values) < least)
    return int(below[0]) - 1 if len(below) else len(values) - 1


def describe_removal(curves: Mapping[str, RemovalCurve]) -> str:
    """Return Markdown that states how many heads can be removed before the translation is less than half as likely."""
    gone = {
        name: removable_steps(curve.log_probs, curve.log_probs[0] - HALF_PROBABILITY) for name, curve in curves.items()
    }
    others = [count for name, count in gone.items() if name not in (MEASURED, GRADIENT)]
    likeliest = curves[MEASURED].log_probs
    best = int(likeliest.argmax())
    description = (
        f"In the measured order, **{gone[MEASURED]} of {_head_count(curves)}** heads can go before the translation is "
        f"less than half as likely as with all of them. In the gradient's order, {gone[GRADIENT]} can go; in "
        f"{len(others)} random orders, {min(others)} to {max(others)}."
    )
    if not best:
        return description
    gain = typeset(likeliest[best] - likeliest[0], "+.2f")
    return (
        f"{description} The translation is most likely without {best} of the heads (its log-probability changes by "
        f"{gain} nats)."
    )


def describe_origin(recorded: RemovalQuality) -> str:
    """Return Markdown that describes how the recorded scores were measured."""
    return (
        f"Greedy translations of {recorded.pairs} sentences that the model was not trained on "
        f"({markdown(recorded.data)}), compared with human translations; removed heads output zeros. Heads are "
        "ordered by their mean importance over other sentences, so no order is fitted to these sentences. "
        f"Computed by `{REMOVAL.command}`."
    )


def describe_quality(recorded: RemovalQuality) -> str:
    """Return Markdown that states how many heads can be removed while BLEU keeps at least 90% of its value."""
    gone, full_score, heads = {}, 0.0, 0
    for order in dict.fromkeys(point.order for point in recorded.points):
        points = [point for point in recorded.points if point.order == order]
        full_score, heads = points[0].bleu, points[-1].removed
        gone[order] = points[removable_steps([point.bleu for point in points], SCORE_SHARE * full_score)].removed
    others = [count for order, count in gone.items() if order not in RECORDED]
    random = f"{min(others)} to {max(others)}" if min(others) < max(others) else str(min(others))
    step = min(point.removed for point in recorded.points if point.removed)
    return (
        f"Over {recorded.pairs} sentences, the model with all heads scores BLEU {full_score:.1f}. It keeps 90% of this "
        f"score without the **{gone['measured']} least important** of its {heads} heads ({gone['gradient']} when "
        f"ranked by gradient, {random} in random order; tested in steps of {step})."
    )


def _head_count(curves: Mapping[str, RemovalCurve]) -> int:
    return len(curves[MEASURED].order)
