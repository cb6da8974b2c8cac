"""Shows how switching heads off changes the translation, and how it changes each step of the original translation."""

import math
from collections.abc import Callable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.token_labels import label_without_space, token_label
from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import AXIS, label_angle, label_positions, labelled_axis
from pages.ui.charts.palette import FIRST, PICKED, diverging
from pages.ui.charts.tables import show_numbers
from pages.ui.components.experiment import embed_experiment
from pages.ui.components.save_as import show_altair
from pages.ui.heads.kinds import head_markdown_link, head_title
from pages.ui.layout.roles import main_figure
from pages.ui.reading.sentence import Reading
from pages.ui.reading.translation import EMPTY_TRANSLATION
from pages.ui.switch_heads_off.export import save_tables
from pages.ui.switch_heads_off.later_layers import show_later_layers
from pages.ui.text.differences import marked_words
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import typeset
from pages.ui.text.python_lines import effect_lines
from transformer.ablation.effect import Effect, EffectRun
from transformer.ablation.estimate import mean_over_draws
from transformer.values.interventions import Interventions
from transformer.values.trace import Kind, Trace

# If the change is smaller than this, in nats, the translation is called "about as likely as before".
NOTICEABLE = 0.05
HEIGHT = 230


def show_effect(reading: Reading, interventions: Interventions, draws: int, *, main: bool = True) -> None:
    """Show both translations with their differences marked, describe the effect, and plot the change at every step.

    Args:
        draws: the number of sampled sentences in the mode "resample".
        main: whether the plot is the page's main figure.
    """
    if not list(interventions.head_gates()):
        st.caption("All heads are on.")
        return
    experiment = embed_experiment(reading.runs, run := EffectRun(reading.run, interventions, draws))
    effect = reading.runs.get(run)
    draw_facts: dict[str, Any] = {"seed": interventions.seed, "draws": effect.draws} if effect.draws > 1 else {}
    before, free = reading.own.target_text, effect.free.target_text
    old, new = marked_words(before, free)
    left, right = st.columns(2, gap="medium")
    left.markdown(f"Every head on\n\n#### {old or EMPTY_TRANSLATION}")
    what = changed_heads(interventions)
    which = f" (draw 1 of {effect.draws})" if draw_facts else ""
    right.markdown(f"{what[0].upper()}{what[1:]}{which}\n\n#### {new or EMPTY_TRANSLATION}")
    st.markdown(
        describe_effect(effect, interventions, given=reading.given, head_name=head_markdown_link),
        help=explain("head", "log-probability", "nats"),
    )
    if effect.others:
        show_numbers(
            draw_table(effect), "off_draws", digits=4, label="The sampled sentences, and the resulting translations"
        )
    table = step_table(effect)
    changes, divergences = st.columns(2, gap="medium")
    first = None if reading.given else effect.first_difference
    for place, column, name, title, signed in (
        (changes, "change", "change in log-probability, nats", "Change in each token's log-probability, in nats", True),
        (divergences, "kl", "KL divergence, nats", "How far the prediction moved: KL divergence, in nats", False),
    ):
        with (
            place,
            main_figure(
                f"**Every head on:** {old or EMPTY_TRANSLATION}",
                f"**{what[0].upper()}{what[1:]}:** {new or EMPTY_TRANSLATION}",
                title,
                when=main and signed,
                rows=2,
            ),
        ):
            st.markdown(f"**{title}**")
            show_altair(
                step_chart(table, column, name, signed=signed, first=first),
                key=f"off_steps_{column}",
                alt=f"{title}, step by step; the table below has the numbers.",
            )
    st.caption(
        "Both runs read the same translation: yours, if you entered one; otherwise, the one written with every head "
        "on. A bar below 0 means that the token became less likely. The KL divergence also counts changes in the "
        "probabilities of tokens that were not written."
        + ("" if first is None else " The vertical line marks the first step at which the new translation differs.")
        + (f" Bars are means over {effect.draws} draws; thin lines are 95% intervals." if draw_facts else ""),
        help=explain("nats", "KL divergence", "log-probability"),
    )
    show_later_layers(reading, interventions, draws, effect, f"{what}{which}")
    numbers = table.drop(columns="step")
    show_numbers(table, "off_step_numbers", digits=4)
    save_tables(
        reading,
        experiment,
        interventions,
        numbers,
        "heads_off",
        new_translation=free,
        lines=effect_lines(
            reading.trace,
            interventions,
            folder=reading.translator.folder,
            given=reading.given,
            draws=draw_facts.get("draws"),
        ),
        **draw_facts,
        **({"translations": effect.translations, "changes": effect.scores.change.tolist()} if draw_facts else {}),
    )


def changed_heads(interventions: Interventions, *, head_name: Callable[[Kind, int, int], str] = head_title) -> str:
    """Return a description of the interventions, such as "without 3 heads"; a single head is called by its name."""
    heads = list(interventions.head_gates())
    (head, gate), count = heads[0], len(heads)
    heads_named = head_name(*head) if count == 1 else f"{count} heads"
    return (
        f"without {heads_named}"
        if gate == 0 and interventions.mode == "zero"
        else (
            f"with {heads_named} {'replaced by its mean output' if count == 1 else 'replaced by their mean outputs'}"
            if gate == 0 and interventions.mode == "mean"
            else f"with {heads_named} attending equally to all visible tokens"
            if gate == 0 and interventions.mode == "uniform"
            else f"with {heads_named} replaced by {'its output' if count == 1 else 'their outputs'} "
            "for another sentence"
            if gate == 0
            else f"with the {'gate' if count == 1 else 'gates'} of {heads_named} set to {gate:g}"
        )
    )


def describe_effect(
    effect: Effect,
    interventions: Interventions,
    *,
    given: bool,
    head_name: Callable[[Kind, int, int], str] = head_title,
) -> str:
    """Return Markdown that describes how the translation and its probability change.

    Args:
        given: whether the user entered the translation.
        head_name: returns a head's name.
    """
    what = changed_heads(interventions, head_name=head_name)
    if given:
        description = f"{what[0].upper()}{what[1:]}, the model would write the translation above. Your own translation"
    elif effect.draws > 1:
        description = (
            f"{what[0].upper()}{what[1:]}, the model writes the same translation in **{effect.unchanged} of "
            f"{effect.draws} draws**. On average, the original translation"
        )
    elif effect.first_difference is None:
        description = f"{what[0].upper()}{what[1:]}, the model writes **the same translation**. It"
    else:
        description = (
            f"{what[0].upper()}{what[1:]}, the translation differs **from token {effect.first_difference + 1} on**"
        )
        old, new = (
            _token_markdown(trace, effect.first_difference)
            if effect.first_difference < len(trace.predicted_tokens)
            else "nothing"
            for trace in (effect.before, effect.free)
        )
        description += f" ({new} instead of {old}). The original translation"
    change, interval = effect.change, ""
    if effect.draws > 1:
        estimate = mean_over_draws(effect.scores.change)
        low, high = (typeset(float(bound), "+.2f") for bound in (estimate.low, estimate.high))
        interval = f"; 95% interval {low} to {high}, seed {interventions.seed}"
    if abs(change) < NOTICEABLE:
        change_text = typeset(change, "+.2f")
        return (
            f"{description} is about as likely as before (its log-probability changes by {change_text} nats{interval})."
        )
    factor = math.exp(min(abs(change), 700))
    times = f"{factor:.2g}" if factor < 1000 else f"10^{abs(change) / math.log(10):.0f}"
    worst = int(np.abs(effect.step_change).argmax())
    return (
        f"{description} becomes **{times.replace('^', chr(92) + '^')} times {'less' if change < 0 else 'more'} "
        "likely** "
        f"(its log-probability changes by {typeset(change, '+.2f')} nats{interval}); token {worst + 1}, "
        f"{_token_markdown(effect.before, worst)}, changes most ({typeset(effect.step_change[worst], '+.2f')} nats)."
    )


def _token_markdown(trace: Trace, step: int) -> str:
    """Return a predicted token as quoted Markdown, without the mark for a leading space."""
    return f"“{markdown(label_without_space(token_label(trace.predicted_tokens[step], trace.target_text)))}”"


def step_table(effect: Effect) -> pd.DataFrame:
    """Return a table with one row per step of the original translation.

    Returns:
        A table with the columns step (1-based), token, before, after, change, kl, tvd and rank. Before and after are
        the token's log-probabilities in nats; the rank is measured with the heads switched off. If several sentences
        were sampled, ranks are medians and all other values are means. In that case, the columns low and high contain
        the limits of the change's 95% interval.
    """
    trace, scores = effect.before, effect.scores
    interval = mean_over_draws(effect.step_changes) if effect.draws > 1 else None
    rank = np.median(scores.ranks, axis=0)
    return pd.DataFrame(
        {
            "step": range(1, len(trace.predicted_tokens) + 1),
            "token": [token_label(token, trace.target_text) for token in trace.predicted_tokens],
            "before": scores.baseline.astype(float),
            "after": scores.log_probs.astype(float).mean(axis=0),
            "change": effect.step_change.astype(float),
            **({} if interval is None else {"low": interval.low, "high": interval.high}),
            "kl": scores.kl.astype(float).mean(axis=0),
            "tvd": scores.tvd.astype(float).mean(axis=0),
            "rank": rank.astype(int) if interval is None else rank,
        }
    )


def draw_table(effect: Effect) -> pd.DataFrame:
    """Return a table with one row per sampled sentence.

    The columns are the draw (1-based), the sampled sentence, the new translation, and the change in the original
    translation's log-probability, in nats.
    """
    return pd.DataFrame(
        {
            "draw": range(1, effect.draws + 1),
            "other sentence": list(effect.others),
            "translation": list(effect.translations),
            "change": effect.scores.change.astype(float),
        }
    )


def step_chart(
    table: pd.DataFrame, column: str, name: str, *, signed: bool, first: int | None
) -> alt.LayerChart | alt.FacetChart:
    """Return a bar chart of one column of a `step_table`, with one bar per step.

    Args:
        column: the column to plot.
        name: the title of the vertical axis, with the unit.
        signed: whether to use a diverging colour scale.
        first: the 0-based step to mark; None to mark no step.
    """
    labels = table.token.tolist()
    axis, names = labelled_axis(
        "step_labels", labels, values=label_positions(labels), **label_angle(labels), orient="top"
    )
    most = max(float(np.abs(table[column].to_numpy(dtype=float)).max()), 1e-9)
    base = alt.Chart(table).encode(x=alt.X("step:O", title=None, axis=axis))
    colour = alt.Color("value:Q", scale=diverging(most), legend=None) if signed else alt.value(FIRST)
    bars = (
        base.transform_calculate(value=f"datum.{column}")
        .mark_bar()
        .encode(
            y=alt.Y(f"{column}:Q", title=name, axis=alt.Axis(**{**AXIS, "grid": True})),
            color=colour,
            tooltip=[
                "token:N",
                alt.Tooltip(f"{column}:Q", format="+.4f" if signed else ".4f", title=name),
                alt.Tooltip("rank:Q", title="the token's new rank"),
            ],
        )
    )
    intervals = (
        [base.mark_rule(strokeWidth=1.5, color="currentColor", aria=False).encode(y="low:Q", y2="high:Q")]
        if signed and "low" in table
        else []
    )
    zero = alt.Chart().mark_rule(color="currentColor", aria=False).encode(y=alt.datum(0))
    layers: list[alt.Chart] = [bars, *intervals, zero]
    if first is not None and first < len(table):
        step = base.transform_filter(f"datum.step == {first + 1}")
        layers.insert(0, step.mark_rule(color=PICKED, strokeWidth=3, aria=False))
    return layer_charts(*layers, data=table, height=HEIGHT, usermeta={"embedOptions": {"renderer": "svg"}}).add_params(
        names
    )
